#pragma once

#include <napi.h>

namespace hone {

/// `findDuplicates({ path, validation, fields, answers, onProgress, onEnd })` -> `{ cancel }`: reads the
/// JSONL file `path`, and another one that is compared with it if `validation` is not empty, on a thread of
/// its own. `fields` are compared; `answers` are those of them that are learned. `onProgress(done, total)`
/// tells the bytes that are read, `onEnd(error, found)` comes once; see `NativeDuplicates` in
/// `src/native/addon.ts`. It takes about 90 bytes of memory for a row.
Napi::Value FindDuplicates(const Napi::CallbackInfo& info);

}  // namespace hone
