#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hone {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The sources for metrics of this machine or container. An empty path means that the source does not exist.
struct HostSources {
  std::string proc_stat;           ///< Linux: `/proc/stat`
  std::vector<int> cpus;           ///< the CPUs that this process may run on; empty means all
  std::string cgroup_cpu;          ///< `cpu.stat` (v2, has `usage_usec`) or `cpuacct.usage` (v1, nanoseconds)
  double quota_cores = 0;          ///< CPU limit of the container, in cores; 0 means none
  std::string meminfo;             ///< Linux: `/proc/meminfo`
  double memory_limit_bytes = 0;   ///< of the container; 0 means none
  std::string cgroup_memory;       ///< `memory.current` (v2) or `memory.usage_in_bytes` (v1)
  std::string cgroup_memory_stat;  ///< `memory.stat`
  std::vector<std::string> energy;   ///< microjoule counters, one per processor package (RAPL)
  std::vector<double> energy_range;  ///< the values in microjoules at which the counters wrap
};

struct HostFigures {
  double cpu_percent = kUnknown;  ///< of the available CPUs since the last reading; unknown at first
  double ram_used_bytes = kUnknown;
  double ram_total_bytes = kUnknown;
  double package_watts = kUnknown;  ///< mean since the last reading
};

/// Reads CPU, memory and power metrics; rates are measured between two readings of the same reader.
class HostReader {
 public:
  explicit HostReader(HostSources sources) : sources_(std::move(sources)) {}
  HostFigures Read();

 private:
  using Clock = std::chrono::steady_clock;

  double CpuPercent(double seconds);
  void ReadMemory(HostFigures& figures) const;
  double PackageWatts(double seconds);

  HostSources sources_;
  bool has_previous_ = false;
  Clock::time_point previous_time_;
  double previous_busy_ = kUnknown, previous_all_ = kUnknown;
  std::vector<double> previous_energy_;
};

}  // namespace hone
