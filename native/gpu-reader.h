#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host.h"
#include "inventory.h"

namespace hone {

/// Live metrics of one GPU; `kUnknown` if the driver does not report a value.
struct GpuFigures {
  double utilization_percent = kUnknown, memory_utilization_percent = kUnknown;
  double used_bytes = kUnknown, total_bytes = kUnknown;
  double temperature_celsius = kUnknown, power_watts = kUnknown, energy_joules = kUnknown;
  double sm_clock_mhz = kUnknown, memory_clock_mhz = kUnknown;
  double throttle_reasons = kUnknown;  ///< NVML's bit mask, as a number
  double pcie_tx_bytes_per_second = kUnknown, pcie_rx_bytes_per_second = kUnknown;
  bool lost = false;
  std::optional<std::vector<Nvml::Process>> processes;
};

/// Reads the live metrics of the GPUs that training sees. Rates are measured between two readings of one
/// reader. It belongs to one thread, which may block in the driver for any length of time.
class GpuReader {
 public:
  /// Metrics in the order of the inventory; empty if there is no GPU or the driver is broken.
  std::vector<GpuFigures> Read();

 private:
  using Clock = std::chrono::steady_clock;

  struct Previous {
    Clock::time_point time;
    std::optional<double> tx, rx;
    double tx_rate = kUnknown, rx_rate = kUnknown;  // of the last slow call
  };

  GpuFigures ReadOne(size_t index);
  void ReadPcie(size_t index, GpuFigures& figures);

  bool opened_ = false;
  Inventory inventory_;
  std::vector<Previous> previous_;
  uint64_t readings_ = 0;
};

}  // namespace hone
