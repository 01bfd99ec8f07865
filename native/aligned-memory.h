#pragma once

#include <napi.h>

namespace hone {

/// `alignedMemory(bytes)` -> an uninitialized `Uint8Array` of that size (1 byte to 64 MiB), aligned to 4096
/// bytes as O_DIRECT requires (open(2)). The memory is freed with the array.
Napi::Value AlignedMemory(const Napi::CallbackInfo& info);

}  // namespace hone
