#pragma once

#include <napi.h>

namespace hone {

/// `startSampler({ intervalMs, batchMs, gpus, host, onBatch }) -> { stop() }`.
///
/// Two threads of its own: one keeps time and reads the host's figures, the other waits for the GPU driver.
/// A frame is made every `intervalMs`; when the driver is late, the frame goes without GPU figures and says
/// so. About every `batchMs` the frames go to `onBatch` as one `Float64Array` (see `src/hardware/frames.ts`
/// for its layout), NaN standing for unknown. When JavaScript is busy, frames wait, up to a bound; the oldest
/// are then dropped and counted. `intervalMs` 0 samples as fast as it can. `host` is a `HostSources` record.
/// The sampler does not keep the process alive; `stop()` never waits for the driver. Thrown:
/// `invalid_argument`, `no_thread`.
Napi::Value StartSampler(const Napi::CallbackInfo& info);

}  // namespace hone
