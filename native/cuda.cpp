#include "cuda.h"

#include "library.h"

namespace hone {

namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kIntegrated = 18;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

std::vector<std::string> LibraryNames() {
#if defined(_WIN32)
  return {"nvcuda.dll"};
#elif defined(__APPLE__)
  return {};
#else
  return {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
#endif
}

using Uuid = unsigned char[16];

std::string Hyphenated(const Uuid& bytes) {
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

CudaView ReadCuda() {
  CudaView view;
  if (LibraryNames().empty()) {
    view.failure = {"library_missing", "CUDA does not exist on this platform."};
    return view;
  }
  Library cuda = Library::Open(LibraryNames(), view.failure);
  if (!cuda) return view;
  view.failure = Failure{};

  const auto init = cuda.Symbol<int (*)(unsigned)>({"cuInit"});
  const auto version_of = cuda.Symbol<int (*)(int*)>({"cuDriverGetVersion"});
  const auto count_of = cuda.Symbol<int (*)(int*)>({"cuDeviceGetCount"});
  const auto device_of = cuda.Symbol<int (*)(int*, int)>({"cuDeviceGet"});
  const auto name_of = cuda.Symbol<int (*)(char*, int, int)>({"cuDeviceGetName"});
  const auto total_of = cuda.Symbol<int (*)(size_t*, int)>({"cuDeviceTotalMem_v2"});
  const auto attribute_of = cuda.Symbol<int (*)(int*, int, int)>({"cuDeviceGetAttribute"});
  // The original version returns the UUID of the whole GPU even for a MIG instance.
  const auto uuid_of = cuda.Symbol<int (*)(Uuid*, int)>({"cuDeviceGetUuid_v2", "cuDeviceGetUuid"});
  const auto error_text = cuda.Symbol<int (*)(int, const char**)>({"cuGetErrorString"});
  // Once initialized, the library has its own threads and exit handlers.
  cuda.Keep();
  if (init == nullptr || count_of == nullptr || device_of == nullptr) {
    view.failure = {"library_unloadable", "The CUDA driver library lacks the functions that list devices."};
    return view;
  }

  const auto fail = [&](int status) {
    const char* words = nullptr;
    if (error_text != nullptr) error_text(status, &words);
    view.failure = {
        status == kNoDevice ? "cuda_no_device" : "cuda_error",
        std::string(words == nullptr ? "CUDA error" : words) + " (" + std::to_string(status) + ")"};
    view.devices.clear();
  };

  int version = 0;
  if (version_of != nullptr && version_of(&version) == kSuccess && version > 0) view.driver_version = version;
  if (const int status = init(0); status != kSuccess) {
    fail(status);
    return view;
  }
  int count = 0;
  if (const int status = count_of(&count); status != kSuccess) {
    fail(status);
    return view;
  }
  if (count == 0) fail(kNoDevice);
  for (int i = 0; i < count; ++i) {
    int device = 0;
    if (const int status = device_of(&device, i); status != kSuccess) {
      fail(status);
      return view;
    }
    CudaDevice entry;
    char name[256] = "";
    if (name_of != nullptr && name_of(name, sizeof(name) - 1, device) == kSuccess) entry.name = name;
    size_t total = 0;
    if (total_of != nullptr && total_of(&total, device) == kSuccess) entry.total_bytes = total;
    Uuid uuid = {};
    if (uuid_of != nullptr && uuid_of(&uuid, device) == kSuccess) entry.uuid = Hyphenated(uuid);
    if (attribute_of != nullptr) {
      attribute_of(&entry.major, kComputeCapabilityMajor, device);
      attribute_of(&entry.minor, kComputeCapabilityMinor, device);
      int integrated = 0;
      entry.is_integrated = attribute_of(&integrated, kIntegrated, device) == kSuccess && integrated != 0;
    }
    view.devices.push_back(std::move(entry));
  }
  return view;
}

}  // namespace hone
