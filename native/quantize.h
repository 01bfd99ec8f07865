#pragma once

#include <napi.h>

namespace hone {

/// `quantize({ llama, ggmlBase, input, output, type, importance, threads, requantize, onProgress, onEnd })`
/// returns `{ cancel() }`.
///
/// Quantizes `input` (a GGUF file) to `output` with the engine's own `llama_model_quantize`, on a separate
/// thread. `llama` and `ggmlBase` are paths of the engine's libraries. `importance` is the path of an
/// importance matrix (`importance.h`), or null. `onProgress` receives the fraction
/// (0...1) of the input's bytes whose tensors are done. `onEnd(error, result)` is called once: with null and
/// `{ bytes, tensors, fallbackTensors }`, or with an error whose `code` is one of `library_missing`,
/// `library_unloadable`, `unsupported_type`, `bad_model`, `bad_importance`, `disk_full`, `file_too_large`,
/// `write_failed`, `cancelled`, `internal`. `cancel()` takes effect before the next tensor. Incomplete output
/// is not deleted: the caller writes to a temporary file and renames it. Throws `invalid_argument`,
/// `no_thread`.
Napi::Value Quantize(const Napi::CallbackInfo& info);

}  // namespace hone
