#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "failure.h"

namespace hone {

/// A device as a CUDA program started now would see it.
struct CudaDevice {
  std::string
      uuid;  ///< 32 hexadecimal digits with hyphens, without a prefix; of the MIG instance if it is one
  std::string name;
  uint64_t total_bytes = 0;
  int major = 0, minor = 0;    ///< compute capability
  bool is_integrated = false;  ///< it computes in the machine's own memory
};

struct CudaView {
  Failure failure;                    ///< why CUDA cannot be used; then there are no devices
  std::optional<int> driver_version;  ///< 1000 × major + 10 × minor
  std::vector<CudaDevice> devices;    ///< in CUDA's order, `CUDA_VISIBLE_DEVICES` respected
};

/// Asks the CUDA driver, opened at run time, which devices a training will see. No context is created and no
/// device memory taken. Failures: `library_missing`, `library_unloadable`, `cuda_no_device`, `cuda_error`.
CudaView ReadCuda();

}  // namespace hone
