#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda.h"
#include "nvml.h"

namespace hone {

/// One device that training can see, or, where CUDA cannot be used, one that is there.
struct Gpu {
  Nvml::Device handle = nullptr;  ///< null when NVML does not know the device
  Nvml::Device board = nullptr;   ///< the physical device, where `handle` is an instance of it
  std::optional<int> nvml_index;  ///< of the physical device, as `nvidia-smi` counts
  bool is_mig = false;
  std::optional<bool> is_integrated;  ///< whether it computes in the machine's memory; as CUDA says
  std::string name, uuid;
  std::optional<uint64_t> total_bytes;
  std::optional<std::pair<int, int>> compute_capability;
  std::optional<std::string> lost;  ///< why the driver cannot reach it any more
};

struct Inventory {
  std::shared_ptr<Nvml> nvml;  ///< null when it cannot be used
  Failure nvml_failure;        ///< of the library, or of a device of ours that cannot be opened
  CudaView cuda;
  std::vector<Gpu> gpus;     ///< in the order that training sees
  size_t installed = 0;      ///< what NVML counts, hidden ones included
  bool cuda_usable = false;  ///< whether `gpus` is what training sees
};

/// Joins what NVML knows with what CUDA shows. It may take as long as the driver likes.
Inventory ReadInventory();

}  // namespace hone
