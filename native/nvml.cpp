#include "nvml.h"

#include <mutex>

#include "nvml-abi.h"

namespace hone {

using namespace nvml_abi;

namespace {

struct StatusName {
  int status;
  const char* name;
};
constexpr StatusName kStatusNames[] = {
    {1, "uninitialized"},
    {2, "invalid_argument"},
    {3, "not_supported"},
    {4, "no_permission"},
    {6, "not_found"},
    {8, "insufficient_power"},
    {9, "driver_not_loaded"},
    {10, "timeout"},
    {11, "irq_issue"},
    {12, "library_not_found"},
    {13, "function_not_found"},
    {14, "corrupted_inforom"},
    {15, "gpu_is_lost"},
    {16, "reset_required"},
    {17, "operating_system"},
    {18, "version_mismatch"},
    {19, "in_use"},
    {20, "memory"},
    {21, "no_data"},
    {23, "insufficient_resources"},
    {25, "argument_version_mismatch"},
    {26, "deprecated"},
    {27, "not_ready"},
    {28, "gpu_not_found"},
    {29, "invalid_state"},
};

std::string StatusCode(int status) {
  for (const StatusName& entry : kStatusNames) {
    if (entry.status == status) return std::string("nvml_") + entry.name;
  }
  return "nvml_unknown";
}

std::vector<std::string> LibraryNames() {
#if defined(_WIN32)
  // Drivers before 2019 install it only next to nvidia-smi.
  return {"nvml.dll", "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvml.dll"};
#elif defined(__APPLE__)
  return {};
#else
  // With full paths for WSL, NixOS, and containers where a cluster mounts the driver.
  return {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1",
          "/run/opengl-driver/lib/libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1"};
#endif
}

}  // namespace

std::shared_ptr<Nvml> Nvml::Open(Failure& failure) {
  // Never destroyed: a thread that hangs in the driver may outlive static destruction.
  static auto* mutex = new std::mutex;
  static auto* shared = new std::weak_ptr<Nvml>;
  const std::lock_guard<std::mutex> lock(*mutex);
  if (auto open = shared->lock()) return open;

  if (LibraryNames().empty()) {
    failure = {"library_missing", "NVIDIA's management library does not exist on this platform."};
    return nullptr;
  }
  std::shared_ptr<Nvml> nvml(new Nvml);
  nvml->library_ = Library::Open(LibraryNames(), failure);
  if (!nvml->library_) return nullptr;
  failure = Failure{};
  const auto init = nvml->library_.Symbol<int (*)()>({"nvmlInit_v2", "nvmlInit"});
  if (init == nullptr) {
    failure = {"library_unloadable", "NVIDIA's management library lacks nvmlInit."};
    return nullptr;
  }
  const int status = init();
  if (status != kSuccess) {
    failure = {StatusCode(status), nvml->ErrorText(status)};
    return nullptr;
  }
  nvml->initialized_ = true;
  *shared = nvml;
  return nvml;
}

Nvml::~Nvml() {
  if (!initialized_) return;
  if (const auto shutdown = library_.Symbol<int (*)()>({"nvmlShutdown"})) shutdown();
}

std::string Nvml::ErrorText(int status) const {
  const auto text = library_.Symbol<const char* (*)(int)>({"nvmlErrorString"});
  const char* words = text == nullptr ? nullptr : text(status);
  return (words == nullptr ? std::string("NVML error") : std::string(words)) + " (" + std::to_string(status) +
         ")";
}

std::optional<std::string> Nvml::DriverVersion() const {
  const auto function = library_.Symbol<int (*)(char*, unsigned)>({"nvmlSystemGetDriverVersion"});
  char text[96] = "";
  if (function == nullptr || function(text, sizeof(text) - 1) != kSuccess) return std::nullopt;
  return std::string(text);
}

std::optional<int> Nvml::CudaVersion() const {
  const auto function =
      library_.Symbol<int (*)(int*)>({"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  int version = 0;
  if (function == nullptr || function(&version) != kSuccess) return std::nullopt;
  return version;
}

std::vector<Nvml::Slot> Nvml::Devices(Failure& failure) const {
  const auto count_of = library_.Symbol<int (*)(unsigned*)>({"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  const auto handle_of = library_.Symbol<int (*)(unsigned, Device*)>(
      {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  if (count_of == nullptr || handle_of == nullptr) {
    failure = {"library_unloadable", "NVIDIA's management library lacks the functions that list devices."};
    return {};
  }
  unsigned count = 0;
  const int status = count_of(&count);
  if (status != kSuccess) {
    failure = {StatusCode(status), ErrorText(status)};
    return {};
  }
  std::vector<Slot> slots(count);
  for (unsigned i = 0; i < count; ++i) {
    Slot& slot = slots[i];
    const int opened = handle_of(i, &slot.device);
    if (opened == kSuccess) continue;
    slot.device = nullptr;
    slot.is_forbidden = opened == kNoPermission;
    slot.failure = {StatusCode(opened), "GPU " + std::to_string(i) + ": " + ErrorText(opened)};
  }
  return slots;
}

std::optional<std::string> Nvml::Name(Device device) const {
  const auto function = library_.Symbol<int (*)(Device, char*, unsigned)>({"nvmlDeviceGetName"});
  char text[96] = "";
  if (function == nullptr || function(device, text, sizeof(text) - 1) != kSuccess) return std::nullopt;
  return std::string(text);
}

std::optional<std::string> Nvml::Uuid(Device device) const {
  const auto function = library_.Symbol<int (*)(Device, char*, unsigned)>({"nvmlDeviceGetUUID"});
  char text[128] = "";
  if (function == nullptr || function(device, text, sizeof(text) - 1) != kSuccess) return std::nullopt;
  return std::string(text);
}

Nvml::MemoryAnswer Nvml::MemoryOf(Device device) const {
  MemoryAnswer answer;
  const auto is_lost = [&](int status) {
    if (status == kGpuIsLost || status == kResetRequired) answer.lost = ErrorText(status);
    return answer.lost.has_value();
  };
  // Version 1 counts memory reserved by the driver as used; version 2 reports it separately.
  if (const auto newest = library_.Symbol<int (*)(Device, MemoryV2*)>({"nvmlDeviceGetMemoryInfo_v2"})) {
    MemoryV2 memory{};
    memory.version = Versioned<MemoryV2>(2);
    const int status = newest(device, &memory);
    if (status == kSuccess) answer.memory = Memory{memory.total, memory.free, memory.used};
    if (is_lost(status)) return answer;  // every further call may take seconds
  }
  if (!answer.memory) {
    const auto oldest = library_.Symbol<int (*)(Device, MemoryV1*)>({"nvmlDeviceGetMemoryInfo"});
    MemoryV1 memory{};
    const int status = oldest == nullptr ? kNotSupported : oldest(device, &memory);
    if (status == kSuccess) answer.memory = Memory{memory.total, memory.free, memory.used};
    is_lost(status);
  }
  // GPUs that use system memory have no memory of their own; some drivers report 0.
  if (answer.memory && answer.memory->total == 0) answer.memory.reset();
  return answer;
}

std::optional<std::pair<int, int>> Nvml::ComputeCapability(Device device) const {
  const auto function = library_.Symbol<int (*)(Device, int*, int*)>({"nvmlDeviceGetCudaComputeCapability"});
  int major = 0;
  int minor = 0;
  if (function == nullptr || function(device, &major, &minor) != kSuccess) return std::nullopt;
  return std::make_pair(major, minor);
}

std::optional<bool> Nvml::MigEnabled(Device device) const {
  const auto function = library_.Symbol<int (*)(Device, unsigned*, unsigned*)>({"nvmlDeviceGetMigMode"});
  unsigned current = 0;
  unsigned pending = 0;
  if (function == nullptr) return false;  // a driver older than MIG
  const int status = function(device, &current, &pending);
  if (status == kNotSupported) return false;
  if (status != kSuccess) return std::nullopt;
  return current == 1;
}

std::vector<Nvml::Device> Nvml::MigInstances(Device device) const {
  const auto handle_of =
      library_.Symbol<int (*)(Device, unsigned, Device*)>({"nvmlDeviceGetMigDeviceHandleByIndex"});
  std::vector<Device> instances;
  const unsigned slots = Ask<unsigned>("nvmlDeviceGetMaxMigDeviceCount", device).value_or(0);
  for (unsigned i = 0; handle_of != nullptr && i < slots; ++i) {
    Device instance = nullptr;
    if (handle_of(device, i, &instance) == kSuccess && instance != nullptr) instances.push_back(instance);
  }
  return instances;
}

}  // namespace hone
