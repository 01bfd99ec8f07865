#pragma once

#include <napi.h>

namespace hone {

/// `readGpus(onAnswer)`: reads the properties of the GPUs on a separate thread. `onAnswer` is called once,
/// when the driver has answered; waiting for it does not keep the process alive. It receives
/// `{ nvml: { code, message } | null, cuda: { code, message } | null, driverVersion, cudaVersion,
///    installed, cudaUsable, gpus: [{ nvmlIndex, mig, integrated, name, uuid, totalBytes, freeBytes,
///    usedBytes, computeCapability, lost, processes: [{ pid, usedBytes }] | null }] }`.
/// Unknown values are `null`. Throws `invalid_argument`, `no_thread`.
Napi::Value ReadGpus(const Napi::CallbackInfo& info);

}  // namespace hone
