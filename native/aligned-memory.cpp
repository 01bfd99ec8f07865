#include "aligned-memory.h"

#include <cstdint>
#include <new>

namespace hone {

Napi::Value AlignedMemory(const Napi::CallbackInfo& info) {
  constexpr std::align_val_t alignment{4096};
  const double size = info[0].As<Napi::Number>().DoubleValue();
  if (!(size >= 1 && size <= double{64 << 20})) {
    throw Napi::RangeError::New(info.Env(), "alignedMemory: the size must be between 1 byte and 64 MiB");
  }
  const auto bytes = static_cast<size_t>(size);
  void* const memory = ::operator new(bytes, alignment, std::nothrow);
  if (memory == nullptr) throw Napi::Error::New(info.Env(), "alignedMemory: out of memory");
  const auto buffer = Napi::ArrayBuffer::New(
      info.Env(), memory, bytes, [](Napi::Env, void* data) { ::operator delete(data, alignment); });
  return Napi::Uint8Array::New(info.Env(), bytes, buffer, 0);
}

}  // namespace hone
