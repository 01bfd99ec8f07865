#pragma once

#include <napi.h>

namespace hone {

/// `readGpus(onAnswer)`: the facts of the GPUs, read on a thread of its own. `onAnswer` is called once, when
/// the driver has answered; waiting for it does not keep the process alive. It gets
/// `{ nvml: { code, message } | null, cuda: { code, message } | null, driverVersion, cudaVersion,
///    installed, cudaUsable, gpus: [{ nvmlIndex, mig, integrated, name, uuid, totalBytes, freeBytes,
///    usedBytes, computeCapability, lost, processes: [{ pid, usedBytes }] | null }] }`, unknown values
///    `null`. Thrown: `invalid_argument`, `no_thread`.
Napi::Value ReadGpus(const Napi::CallbackInfo& info);

}  // namespace hone
