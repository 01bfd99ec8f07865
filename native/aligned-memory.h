#pragma once

#include <napi.h>

namespace hone {

/// `alignedMemory(bytes)` -> an uninitialized `Uint8Array` of that size (1 byte to 64 MiB) whose memory
/// begins at a multiple of 4096 bytes, as writing past the page cache asks for (open(2), O_DIRECT). It is
/// freed with it.
Napi::Value AlignedMemory(const Napi::CallbackInfo& info);

}  // namespace hone
