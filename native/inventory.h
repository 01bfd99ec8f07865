#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda.h"
#include "nvml.h"

namespace hone {

/// A device that training can see; if CUDA cannot be used, a device that is installed.
struct Gpu {
  Nvml::Device handle = nullptr;  ///< null if NVML does not know the device
  Nvml::Device board = nullptr;   ///< the physical device, if `handle` is an instance of it
  std::optional<int> nvml_index;  ///< of the physical device, as shown by `nvidia-smi`
  bool is_mig = false;
  std::optional<bool> is_integrated;  ///< whether it uses system memory, as reported by CUDA
  std::string name, uuid;
  std::optional<uint64_t> total_bytes;
  std::optional<std::pair<int, int>> compute_capability;
  std::optional<std::string> lost;  ///< why the driver can no longer reach it
};

struct Inventory {
  std::shared_ptr<Nvml> nvml;  ///< null if it cannot be used
  Failure nvml_failure;        ///< of the library, or of a device available to us that cannot be opened
  CudaView cuda;
  std::vector<Gpu> gpus;     ///< in the order that training sees
  size_t installed = 0;      ///< the number that NVML reports, including hidden ones
  bool cuda_usable = false;  ///< whether `gpus` is what training sees
};

/// Merges what NVML and CUDA report. The call may block for any length of time.
Inventory ReadInventory();

}  // namespace hone
