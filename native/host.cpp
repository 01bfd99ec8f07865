#include "host.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#if defined(_WIN32)
#include <windows.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#endif

namespace hone {

namespace {

#if defined(__linux__)
constexpr const char* kReadMode = "re";  // close-on-exec: no descriptor leaks to a trainer
#else
constexpr const char* kReadMode = "r";
#endif

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

File OpenFile(const std::string& path) {
  return File(path.empty() ? nullptr : std::fopen(path.c_str(), kReadMode));
}

double ReadNumber(const std::string& path) {
  const File file = OpenFile(path);
  double value = 0;
  if (file == nullptr || std::fscanf(file.get(), "%lf", &value) != 1) return kUnknown;
  return value;
}

#if !defined(_WIN32) && !defined(__APPLE__)

/// The number after `key` at the start of a line, as in `/proc/meminfo` and cgroup files.
double ReadKey(const std::string& path, const char* key) {
  const File file = OpenFile(path);
  if (file == nullptr) return kUnknown;
  const size_t length = std::strlen(key);
  char line[256];
  while (std::fgets(line, sizeof(line), file.get()) != nullptr) {
    if (std::strncmp(line, key, length) == 0) return std::strtod(line + length, nullptr);
  }
  return kUnknown;
}

/// Sums the busy and total ticks of the CPUs in `cpus` (all if empty).
bool ReadProcStat(const std::string& path, const std::vector<int>& cpus, double& busy, double& all) {
  const File file = OpenFile(path);
  if (file == nullptr) return false;
  busy = all = 0;
  bool any = false;
  char line[512];
  while (std::fgets(line, sizeof(line), file.get()) != nullptr && std::strncmp(line, "cpu", 3) == 0) {
    int number = -1;
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0,
                       steal = 0;
    if (std::sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &number, &user, &nice, &system,
                    &idle, &io_wait, &irq, &soft_irq, &steal) < 5) {
      continue;  // the aggregate line has no CPU number
    }
    if (!cpus.empty() && std::find(cpus.begin(), cpus.end(), number) == cpus.end()) continue;
    const unsigned long long used = user + nice + system + irq + soft_irq;
    busy += static_cast<double>(used);
    all += static_cast<double>(used + idle + io_wait + steal);
    any = true;
  }
  return any;
}

#endif

}  // namespace

HostFigures HostReader::Read() {
  HostFigures figures;
  const Clock::time_point now = Clock::now();
  const double seconds = has_previous_ ? std::chrono::duration<double>(now - previous_time_).count() : 0;
  figures.cpu_percent = CpuPercent(seconds);
  figures.package_watts = PackageWatts(seconds);
  ReadMemory(figures);
  previous_time_ = now;
  has_previous_ = true;
  return figures;
}

double HostReader::CpuPercent([[maybe_unused]] double seconds) {
  double busy = kUnknown;
  double all = kUnknown;
#if defined(_WIN32)
  FILETIME idle_time, kernel_time, user_time;
  if (GetSystemTimes(&idle_time, &kernel_time, &user_time)) {
    const auto ticks = [](const FILETIME& time) {
      return static_cast<double>((static_cast<uint64_t>(time.dwHighDateTime) << 32) | time.dwLowDateTime);
    };
    all = ticks(kernel_time) + ticks(user_time);  // kernel time includes idle time
    busy = all - ticks(idle_time);
  }
#elif defined(__APPLE__)
  host_cpu_load_info_data_t load;
  mach_msg_type_number_t count = HOST_CPU_LOAD_INFO_COUNT;
  if (host_statistics(mach_host_self(), HOST_CPU_LOAD_INFO, reinterpret_cast<host_info_t>(&load), &count) ==
      KERN_SUCCESS) {
    busy = static_cast<double>(load.cpu_ticks[CPU_STATE_USER]) + load.cpu_ticks[CPU_STATE_SYSTEM] +
           load.cpu_ticks[CPU_STATE_NICE];
    all = busy + load.cpu_ticks[CPU_STATE_IDLE];
  }
#else
  if (sources_.quota_cores > 0 && !sources_.cgroup_cpu.empty()) {
    const double microseconds = ReadKey(sources_.cgroup_cpu, "usage_usec ");
    busy = std::isnan(microseconds) ? ReadNumber(sources_.cgroup_cpu) / 1e9 : microseconds / 1e6;
    all = (std::isnan(previous_all_) ? 0 : previous_all_) + seconds * sources_.quota_cores;
  } else if (!ReadProcStat(sources_.proc_stat, sources_.cpus, busy, all)) {
    busy = all = kUnknown;
  }
#endif
  const double busy_since = busy - previous_busy_;
  const double all_since = all - previous_all_;
  previous_busy_ = busy;
  previous_all_ = all;
  // Less than one clock tick has passed, or this is the first reading.
  if (!(all_since > 0) || std::isnan(busy_since)) return kUnknown;
  return std::clamp(100 * busy_since / all_since, 0.0, 100.0);
}

void HostReader::ReadMemory(HostFigures& figures) const {
#if defined(_WIN32)
  MEMORYSTATUSEX status;
  status.dwLength = sizeof(status);
  if (GlobalMemoryStatusEx(&status)) {
    figures.ram_total_bytes = static_cast<double>(status.ullTotalPhys);
    figures.ram_used_bytes = static_cast<double>(status.ullTotalPhys - status.ullAvailPhys);
  }
#elif defined(__APPLE__)
  uint64_t total = 0;
  size_t length = sizeof(total);
  if (sysctlbyname("hw.memsize", &total, &length, nullptr, 0) == 0)
    figures.ram_total_bytes = static_cast<double>(total);
  vm_statistics64_data_t memory;
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&memory), &count) ==
      KERN_SUCCESS) {
    figures.ram_used_bytes =
        static_cast<double>(memory.active_count + memory.wire_count + memory.compressor_page_count) *
        static_cast<double>(vm_kernel_page_size);
  }
#else
  const double kibibyte = 1024;
  double total = kUnknown;
  double available = kUnknown;
  if (const File file = OpenFile(sources_.meminfo)) {
    char line[256];
    // MemTotal and MemAvailable are among the first three lines.
    while (std::isnan(available) && std::fgets(line, sizeof(line), file.get()) != nullptr) {
      if (std::strncmp(line, "MemTotal:", 9) == 0) total = std::strtod(line + 9, nullptr) * kibibyte;
      if (std::strncmp(line, "MemAvailable:", 13) == 0)
        available = std::strtod(line + 13, nullptr) * kibibyte;
    }
  }
  figures.ram_total_bytes = total;
  figures.ram_used_bytes = total - available;
  if (sources_.memory_limit_bytes > 0) {
    figures.ram_total_bytes =
        std::isnan(total) ? sources_.memory_limit_bytes : std::min(total, sources_.memory_limit_bytes);
    const double current = ReadNumber(sources_.cgroup_memory);
    // Cached file pages are reclaimed under memory pressure. The `total_` prefix is cgroup v1's name for
    // values of the whole subtree.
    double cached = ReadKey(sources_.cgroup_memory_stat, "total_inactive_file ");
    if (std::isnan(cached)) cached = ReadKey(sources_.cgroup_memory_stat, "inactive_file ");
    if (!std::isnan(current))
      figures.ram_used_bytes = std::max(0.0, current - (std::isnan(cached) ? 0 : cached));
  }
#endif
}

double HostReader::PackageWatts(double seconds) {
  if (sources_.energy.empty()) return kUnknown;
  previous_energy_.resize(sources_.energy.size(), kUnknown);
  double joules = 0;
  for (size_t i = 0; i < sources_.energy.size(); ++i) {
    const double now = ReadNumber(sources_.energy[i]);
    double used = now - previous_energy_[i];
    previous_energy_[i] = now;
    if (used < 0 && i < sources_.energy_range.size()) used += sources_.energy_range[i];
    joules += used / 1e6;  // NaN propagates
  }
  return seconds > 0 && joules >= 0 ? joules / seconds : kUnknown;
}

}  // namespace hone
