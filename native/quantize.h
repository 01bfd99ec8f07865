#pragma once

#include <napi.h>

namespace hone {

/// `quantize({ llama, ggmlBase, input, output, type, threads, requantize, onProgress, onEnd })`
/// gives `{ cancel() }`.
///
/// Writes `input` (a GGUF file) to `output` in the given type by the engine's own `llama_model_quantize`, on
/// a thread of its own. `llama` and `ggmlBase` are paths of the engine's libraries. `onProgress` gets a share
/// 0...1 of the input's bytes whose tensors are done. `onEnd(error, result)` is called once: with null and
/// `{ bytes, tensors, fallbackTensors }`, or with an error whose `code` is one of `library_missing`,
/// `library_unloadable`, `unsupported_type`, `bad_model`, `disk_full`, `file_too_large`, `write_failed`,
/// `cancelled`, `internal`. `cancel()` takes effect before the next tensor. What was written to `output` is
/// left there: the caller writes aside and renames. Thrown: `invalid_argument`, `no_thread`.
Napi::Value Quantize(const Napi::CallbackInfo& info);

}  // namespace hone
