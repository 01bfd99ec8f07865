#include "gpu-reader.h"

#include <algorithm>

#include "process-end.h"

namespace hone {

namespace {

template <typename Value>
double OrUnknown(const std::optional<Value>& value) {
  return value ? static_cast<double>(*value) : kUnknown;
}

}  // namespace

std::vector<GpuFigures> GpuReader::Read() {
  if (!opened_) {
    inventory_ = ReadInventory();
    if (!inventory_.cuda_usable && inventory_.cuda.failure.code == "cuda_no_device") inventory_.gpus.clear();
    previous_.resize(inventory_.gpus.size());
    opened_ = true;
  }
  std::vector<GpuFigures> all;
  for (size_t i = 0; i < inventory_.gpus.size() && !ProcessEnding(); ++i) all.push_back(ReadOne(i));
  readings_ += 1;
  return all;
}

GpuFigures GpuReader::ReadOne(size_t index) {
  GpuFigures figures;
  const Gpu& gpu = inventory_.gpus[index];
  if (gpu.handle == nullptr || inventory_.nvml == nullptr) {
    figures.lost = gpu.lost.has_value();
    return figures;
  }
  const Nvml& nvml = *inventory_.nvml;
  const Nvml::MemoryAnswer answer = nvml.MemoryOf(gpu.handle);
  if (answer.lost) {
    figures.lost = true;  // make no further calls: each may now take seconds
    return figures;
  }
  if (answer.memory) {
    figures.used_bytes = static_cast<double>(answer.memory->used);
    figures.total_bytes = static_cast<double>(answer.memory->total);
  } else {
    figures.total_bytes = OrUnknown(gpu.total_bytes);
  }
  if (const auto utilization = nvml.UtilizationOf(gpu.handle)) {
    figures.utilization_percent = utilization->gpu;
    figures.memory_utilization_percent = utilization->memory;
  }
  // An instance shares the temperature and clocks of its board; power and PCIe traffic are not reported per
  // instance.
  const Nvml::Device board = gpu.is_mig ? gpu.board : gpu.handle;
  figures.temperature_celsius = OrUnknown(nvml.TemperatureCelsius(board));
  figures.sm_clock_mhz = OrUnknown(nvml.SmClockMHz(board));
  figures.memory_clock_mhz = OrUnknown(nvml.MemoryClockMHz(board));
  figures.throttle_reasons = OrUnknown(nvml.ThrottleReasons(board));
  if (!gpu.is_mig) {
    figures.power_watts = OrUnknown(nvml.PowerWatts(gpu.handle));
    figures.energy_joules = OrUnknown(nvml.EnergyJoules(gpu.handle));
    ReadPcie(index, figures);
  }
  figures.processes = nvml.Processes(gpu.handle);
  return figures;
}

void GpuReader::ReadPcie(size_t index, GpuFigures& figures) {
  const Nvml& nvml = *inventory_.nvml;
  const Nvml::Device handle = inventory_.gpus[index].handle;
  Previous& previous = previous_[index];
  const Nvml::Pcie counters = nvml.PcieCounters(handle);
  const Clock::time_point now = Clock::now();
  if (counters.tx || counters.rx) {
    const double seconds = std::chrono::duration<double>(now - previous.time).count();
    const auto rate = [seconds](const std::optional<double>& current, const std::optional<double>& before) {
      // A counter that decreased has wrapped: the rate of this interval is unknown.
      if (!current || !before || *current < *before || !(seconds > 0)) return kUnknown;
      return (*current - *before) / seconds;
    };
    figures.pcie_tx_bytes_per_second = rate(counters.tx, previous.tx);
    figures.pcie_rx_bytes_per_second = rate(counters.rx, previous.rx);
    previous.time = now;
    previous.tx = counters.tx;
    previous.rx = counters.rx;
    return;
  }
  // Older drivers measure only on request and block for 20 ms per direction: query one GPU per reading, and
  // each GPU in at most every fifth reading.
  const uint64_t turns = std::max<uint64_t>(5, inventory_.gpus.size());
  if (readings_ % turns == index) {
    previous.tx_rate = OrUnknown(nvml.PcieThroughput(handle, false));
    previous.rx_rate = OrUnknown(nvml.PcieThroughput(handle, true));
  }
  figures.pcie_tx_bytes_per_second = previous.tx_rate;
  figures.pcie_rx_bytes_per_second = previous.rx_rate;
}

}  // namespace hone
