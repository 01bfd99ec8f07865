#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "failure.h"
#include "library.h"

namespace hone {

/// NVIDIA's management library, opened at run time. Types and constants are those of its public ABI. Each
/// function falls back from the newest NVML version to the oldest that reports the same value. A value that a
/// device does not report is an empty optional, never a made-up number.
///
/// Every call may block for any length of time, so none is made on the JavaScript thread.
class Nvml {
 public:
  using Device = void*;

  /// A physical device, by its NVML index.
  struct Slot {
    Device device = nullptr;    ///< null if it cannot be opened
    bool is_forbidden = false;  ///< assigned to another container or job: present, but not accessible to us
    Failure failure;            ///< why it cannot be opened
  };
  struct Memory {
    uint64_t total = 0, free = 0, used = 0;  // bytes
  };
  struct MemoryAnswer {
    std::optional<Memory> memory;     ///< also empty if the GPU uses system memory
    std::optional<std::string> lost;  ///< why the device no longer responds: off the bus, or needs a reset
  };
  struct Utilization {
    unsigned gpu = 0, memory = 0;  // percent of the last sampling period
  };
  struct Process {
    unsigned pid = 0;
    std::optional<uint64_t> bytes;
  };
  struct Pcie {
    std::optional<double> tx, rx;  // bytes since an arbitrary start
  };

  /// The open library, shared by all concurrent users; the first one initializes it, the last one shuts it
  /// down. On failure it is null and `failure` has the cause: `library_missing`, `library_unloadable`, or
  /// `nvml_` and the name of NVML's own error, such as `nvml_driver_not_loaded`.
  static std::shared_ptr<Nvml> Open(Failure& failure);

  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> DriverVersion() const;
  std::optional<int> CudaVersion() const;  ///< 1000 × major + 10 × minor

  /// All physical devices; `failure` has the cause if they cannot be listed.
  std::vector<Slot> Devices(Failure& failure) const;

  std::optional<std::string> Name(Device device) const;
  std::optional<std::string> Uuid(Device device) const;
  MemoryAnswer MemoryOf(Device device) const;
  std::optional<std::pair<int, int>> ComputeCapability(Device device) const;
  std::optional<bool> MigEnabled(Device device) const;
  std::vector<Device> MigInstances(Device device) const;
  std::optional<std::vector<Process>> Processes(Device device) const;

  std::optional<Utilization> UtilizationOf(Device device) const;
  std::optional<double> TemperatureCelsius(Device device) const;
  std::optional<double> PowerWatts(Device device) const;
  std::optional<double> EnergyJoules(Device device) const;  ///< since the driver was loaded
  std::optional<unsigned> SmClockMHz(Device device) const;
  std::optional<unsigned> MemoryClockMHz(Device device) const;
  std::optional<uint64_t> ThrottleReasons(Device device) const;  ///< NVML's bit mask
  Pcie PcieCounters(Device device) const;                        ///< empty if the counters wrap too soon
  /// Bytes per second, measured by the driver over 20 ms during which the call blocks.
  std::optional<double> PcieThroughput(Device device, bool receive) const;

 private:
  Nvml() = default;

  /// The result of an NVML function that takes the device, `arguments` and a pointer to a value.
  template <typename Value, typename... Arguments>
  std::optional<Value> Ask(const char* name, Device device, Arguments... arguments) const {
    const auto function = library_.Symbol<int (*)(Device, Arguments..., Value*)>({name});
    Value value{};
    if (function == nullptr || function(device, arguments..., &value) != 0) return std::nullopt;
    return value;
  }
  std::string ErrorText(int status) const;

  Library library_;
  bool initialized_ = false;
};

}  // namespace hone
