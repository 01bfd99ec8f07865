#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hone {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Where the figures of this machine, or of the container we are in, are read. An empty path is not there.
struct HostSources {
  std::string proc_stat;           ///< Linux: `/proc/stat`
  std::vector<int> cpus;           ///< the processors that we may run on; empty means all
  std::string cgroup_cpu;          ///< `cpu.stat` (v2, has `usage_usec`) or `cpuacct.usage` (v1, nanoseconds)
  double quota_cores = 0;          ///< processor time that the container may use, in cores; 0 is no limit
  std::string meminfo;             ///< Linux: `/proc/meminfo`
  double memory_limit_bytes = 0;   ///< of the container; 0 is no limit
  std::string cgroup_memory;       ///< `memory.current` (v2) or `memory.usage_in_bytes` (v1)
  std::string cgroup_memory_stat;  ///< `memory.stat`
  std::vector<std::string> energy;   ///< microjoule counters, one per processor package (RAPL)
  std::vector<double> energy_range;  ///< microjoules after which each of them begins again
};

struct HostFigures {
  double cpu_percent = kUnknown;  ///< of what we may use, since the last reading; unknown the first time
  double ram_used_bytes = kUnknown;
  double ram_total_bytes = kUnknown;
  double package_watts = kUnknown;  ///< mean since the last reading
};

/// Reads processor, memory and power figures; the rates are between two readings of the same reader.
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
