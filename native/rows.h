#pragma once

#include <napi.h>

namespace hone {

/// `scanRows(bytes, from, to, fields)` -> `{ rows, offset }`: the number of consecutive lines from byte
/// `from` that are certainly JSON objects with only string values and all of `fields`, and the offset of the
/// first other line, or of one without a newline before `to`. That line may still be valid: the caller parses
/// it fully. UTF-8 is not checked.
Napi::Value ScanRows(const Napi::CallbackInfo& info);

}  // namespace hone
