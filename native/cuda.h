#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "failure.h"

namespace hone {

/// A device as seen by a CUDA program that starts now.
struct CudaDevice {
  std::string
      uuid;  ///< 32 hexadecimal digits with hyphens, without a prefix; of the MIG instance if it is one
  std::string name;
  uint64_t total_bytes = 0;
  int major = 0, minor = 0;    ///< compute capability
  bool is_integrated = false;  ///< it uses system memory
};

struct CudaView {
  Failure failure;                    ///< why CUDA cannot be used; then `devices` is empty
  std::optional<int> driver_version;  ///< 1000 × major + 10 × minor
  std::vector<CudaDevice> devices;    ///< in CUDA's order, with `CUDA_VISIBLE_DEVICES` applied
};

/// Asks the CUDA driver, opened at run time, which devices training will see. It creates no context and
/// allocates no device memory. Failures: `library_missing`, `library_unloadable`, `cuda_no_device`,
/// `cuda_error`.
CudaView ReadCuda();

}  // namespace hone
