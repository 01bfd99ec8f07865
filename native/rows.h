#pragma once

#include <napi.h>

namespace hone {

/// `scanRows(bytes, from, to, fields)` -> `{ rows, offset }`: how many lines from byte `from` on are, one
/// after the other and beyond doubt, JSON objects of strings alone that have all of `fields`; and where the
/// first line begins that is not, or is not ended by a newline before `to`. Such a line may be right all the
/// same: whoever asks looks at it more closely. That the bytes are UTF-8 is not checked here.
Napi::Value ScanRows(const Napi::CallbackInfo& info);

}  // namespace hone
