#pragma once

#include <napi.h>

namespace hone {

/// `readGpus() -> Promise`: the facts of the GPUs, read on a thread of its own. The promise never rejects; it
/// settles when the driver has answered, and does not keep the process alive until then. It gives
/// `{ nvml: { code, message } | null, cuda: { code, message } | null, driverVersion, cudaVersion,
///    installed, cudaUsable, gpus: [{ nvmlIndex, mig, name, uuid, totalBytes, freeBytes, usedBytes,
///    computeCapability, lost, processes: [{ pid, usedBytes }] | null }] }`, unknown values `null`.
Napi::Value ReadGpus(const Napi::CallbackInfo& info);

}  // namespace hone
