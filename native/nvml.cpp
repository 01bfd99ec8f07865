#include "nvml.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace hone {

namespace {

// Status numbers of NVML's ABI that are told apart here.
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;
constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;
constexpr uint64_t kValueNotAvailable = ~uint64_t{0};

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
    {20, "memory"},
    {23, "insufficient_resources"},
};

std::string StatusCode(int status) {
  for (const StatusName& entry : kStatusNames) {
    if (entry.status == status) return std::string("nvml_") + entry.name;
  }
  return "nvml_unknown";
}

struct MemoryV1 {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct ProcessV1 {
  unsigned pid;
  unsigned long long bytes;
};
struct ProcessV2 {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp_us, latency_us;
  unsigned type;
  int status;
  union {
    double real;
    unsigned u32;
    unsigned long ulong;
    unsigned long long u64;
    long long s64;
    int s32;
    unsigned short u16;
  } value;
};
static_assert(sizeof(MemoryV2) == 40 && sizeof(ProcessV2) == 24 && sizeof(FieldValue) == 40);

double AsDouble(const FieldValue& field) {
  switch (field.type) {
    case 0:
      return field.value.real;
    case 1:
      return field.value.u32;
    case 2:
      return static_cast<double>(field.value.ulong);
    case 3:
      return static_cast<double>(field.value.u64);
    case 4:
      return static_cast<double>(field.value.s64);
    case 5:
      return field.value.s32;
    default:
      return field.value.u16;
  }
}

std::vector<std::string> LibraryNames() {
#if defined(_WIN32)
  return {"nvml.dll"};
#elif defined(__APPLE__)
  return {};
#else
  return {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
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

template <typename Value, typename... Arguments>
std::optional<Value> Nvml::Ask(int (*function)(Device, Arguments...), Device device) const {
  Value value{};
  if (function == nullptr || function(device, &value) != kSuccess) return std::nullopt;
  return value;
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

std::vector<Nvml::Device> Nvml::Devices(Failure& failure) const {
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
  std::vector<Device> devices(count, nullptr);
  for (unsigned i = 0; i < count; ++i) {
    const int opened = handle_of(i, &devices[i]);
    if (opened == kSuccess) continue;
    devices[i] = nullptr;
    failure = {StatusCode(opened), "GPU " + std::to_string(i) + ": " + ErrorText(opened)};
  }
  return devices;
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

std::optional<Nvml::Memory> Nvml::MemoryOf(Device device) const {
  // Version 1 counts what the driver reserves for itself as used; version 2 tells it apart.
  if (const auto newest = library_.Symbol<int (*)(Device, MemoryV2*)>({"nvmlDeviceGetMemoryInfo_v2"})) {
    MemoryV2 memory{};
    memory.version = static_cast<unsigned>(sizeof(MemoryV2)) | (2U << 24);
    if (newest(device, &memory) == kSuccess) return Memory{memory.total, memory.free, memory.used};
  }
  const auto oldest = library_.Symbol<int (*)(Device, MemoryV1*)>({"nvmlDeviceGetMemoryInfo"});
  const auto memory = Ask<MemoryV1>(oldest, device);
  if (!memory) return std::nullopt;
  return Memory{memory->total, memory->free, memory->used};
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
  const auto count_of = library_.Symbol<int (*)(Device, unsigned*)>({"nvmlDeviceGetMaxMigDeviceCount"});
  const auto handle_of =
      library_.Symbol<int (*)(Device, unsigned, Device*)>({"nvmlDeviceGetMigDeviceHandleByIndex"});
  std::vector<Device> instances;
  const unsigned slots = Ask<unsigned>(count_of, device).value_or(0);
  for (unsigned i = 0; handle_of != nullptr && i < slots; ++i) {
    Device instance = nullptr;
    if (handle_of(device, i, &instance) == kSuccess && instance != nullptr) instances.push_back(instance);
  }
  return instances;
}

std::optional<std::vector<Nvml::Process>> Nvml::Processes(Device device) const {
  std::vector<Process> all;
  bool any_answer = false;
  const auto add = [&all](unsigned pid, unsigned long long bytes) {
    const auto same = [pid](const Process& process) { return process.pid == pid; };
    if (std::any_of(all.begin(), all.end(), same)) return;  // both compute and graphics
    all.push_back({pid, bytes == kValueNotAvailable ? std::nullopt : std::optional<uint64_t>(bytes)});
  };
  // Room for twice what is asked for: drivers 525 to 530 gave this function a longer structure (32 bytes)
  // under the same name. What lies behind the answer tells which one was written.
  constexpr size_t kLongStructure = 32;
  constexpr unsigned char kUntouched = 0xA5;
  for (const char* kind : {"Compute", "Graphics"}) {
    const std::string base = std::string("nvmlDeviceGet") + kind + "RunningProcesses";
    const auto newer =
        library_.Symbol<int (*)(Device, unsigned*, void*)>({(base + "_v3").c_str(), (base + "_v2").c_str()});
    const auto oldest = library_.Symbol<int (*)(Device, unsigned*, void*)>({base.c_str()});
    const auto function = newer != nullptr ? newer : oldest;
    if (function == nullptr) continue;
    unsigned capacity = 64;
    for (int attempt = 0; attempt < 4; ++attempt) {  // processes come and go between two calls
      std::vector<unsigned char> bytes(capacity * kLongStructure, kUntouched);
      unsigned count = capacity;
      const int status = function(device, &count, bytes.data());
      if (status == kInsufficientSize) {
        capacity = std::min(std::max(count, capacity) * 2, 65536U);
        continue;
      }
      if (status != kSuccess) break;
      any_answer = true;
      count = std::min(count, capacity);
      size_t stride = sizeof(ProcessV1);
      if (newer != nullptr) {
        const auto* behind = bytes.data() + count * sizeof(ProcessV2);
        const bool untouched =
            count * sizeof(ProcessV2) >= bytes.size() ||
            std::all_of(behind, behind + 8, [](unsigned char b) { return b == kUntouched; });
        stride = untouched ? sizeof(ProcessV2) : kLongStructure;
      }
      for (unsigned i = 0; i < count; ++i) {
        ProcessV1 entry{};
        std::memcpy(&entry, bytes.data() + i * stride, sizeof(entry));
        add(entry.pid, entry.bytes);
      }
      break;
    }
  }
  if (!any_answer) return std::nullopt;
  return all;
}

std::optional<Nvml::Utilization> Nvml::UtilizationOf(Device device) const {
  struct Rates {
    unsigned gpu, memory;
  };
  const auto rates =
      Ask<Rates>(library_.Symbol<int (*)(Device, Rates*)>({"nvmlDeviceGetUtilizationRates"}), device);
  if (!rates) return std::nullopt;
  return Utilization{rates->gpu, rates->memory};
}

std::optional<double> Nvml::TemperatureCelsius(Device device) const {
  const auto function = library_.Symbol<int (*)(Device, int, unsigned*)>({"nvmlDeviceGetTemperature"});
  unsigned celsius = 0;
  if (function == nullptr || function(device, /*GPU*/ 0, &celsius) != kSuccess) return std::nullopt;
  return celsius;
}

std::optional<double> Nvml::PowerWatts(Device device) const {
  const auto milliwatts =
      Ask<unsigned>(library_.Symbol<int (*)(Device, unsigned*)>({"nvmlDeviceGetPowerUsage"}), device);
  if (!milliwatts) return std::nullopt;
  return *milliwatts / 1000.0;
}

std::optional<double> Nvml::EnergyJoules(Device device) const {
  const auto millijoules = Ask<unsigned long long>(
      library_.Symbol<int (*)(Device, unsigned long long*)>({"nvmlDeviceGetTotalEnergyConsumption"}), device);
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) / 1000.0;
}

namespace {

std::optional<unsigned> Clock(const Library& library, Nvml::Device device, int kind) {
  const auto function = library.Symbol<int (*)(Nvml::Device, int, unsigned*)>({"nvmlDeviceGetClockInfo"});
  unsigned mhz = 0;
  if (function == nullptr || function(device, kind, &mhz) != kSuccess) return std::nullopt;
  return mhz;
}

}  // namespace

std::optional<unsigned> Nvml::SmClockMHz(Device device) const { return Clock(library_, device, 1); }

std::optional<unsigned> Nvml::MemoryClockMHz(Device device) const { return Clock(library_, device, 2); }

std::optional<uint64_t> Nvml::ThrottleReasons(Device device) const {
  const auto bits = Ask<unsigned long long>(
      library_.Symbol<int (*)(Device, unsigned long long*)>(
          {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}),
      device);
  if (!bits) return std::nullopt;
  return *bits;
}

Nvml::Pcie Nvml::PcieCounters(Device device) const {
  constexpr unsigned kTransmitted = 197;  // NVML_FI_DEV_PCIE_COUNT_TX_BYTES
  constexpr unsigned kReceived = 198;     // NVML_FI_DEV_PCIE_COUNT_RX_BYTES
  const auto function = library_.Symbol<int (*)(Device, int, FieldValue*)>({"nvmlDeviceGetFieldValues"});
  FieldValue fields[2] = {};
  fields[0].field = kTransmitted;
  fields[1].field = kReceived;
  // A driver that leaves a field alone has not answered it.
  fields[0].status = fields[1].status = kNotSupported;
  Pcie counters;
  if (function == nullptr || function(device, 2, fields) != kSuccess) return counters;
  if (fields[0].status == kSuccess) counters.tx = AsDouble(fields[0]);
  if (fields[1].status == kSuccess) counters.rx = AsDouble(fields[1]);
  return counters;
}

std::optional<double> Nvml::PcieThroughput(Device device, bool receive) const {
  const auto function = library_.Symbol<int (*)(Device, int, unsigned*)>({"nvmlDeviceGetPcieThroughput"});
  unsigned kilobytes = 0;
  if (function == nullptr || function(device, receive ? 1 : 0, &kilobytes) != kSuccess) return std::nullopt;
  return kilobytes * 1024.0;
}

std::optional<std::string> Nvml::LostBecause(Device device) const {
  const auto function = library_.Symbol<int (*)(Device, MemoryV1*)>({"nvmlDeviceGetMemoryInfo"});
  MemoryV1 memory{};
  if (function == nullptr) return std::nullopt;
  const int status = function(device, &memory);
  if (status != kGpuIsLost && status != kResetRequired) return std::nullopt;
  return ErrorText(status);
}

}  // namespace hone
