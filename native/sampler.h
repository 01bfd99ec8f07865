#pragma once

#include <napi.h>

namespace hone {

/// `startSampler({ intervalMs, batchMs, gpus, host, onBatch }) -> { stop() }`.
///
/// Uses two threads: one keeps time and reads host metrics, the other waits for the GPU driver. A frame is
/// made every `intervalMs`; if the driver is late, the frame has no GPU metrics and says so. About every
/// `batchMs` the frames are passed to `onBatch` as one `Float64Array` (see `src/hardware/sample.ts` for its
/// layout), with NaN for unknown values. While JavaScript is busy, frames are queued up to a limit; then the
/// oldest are dropped and counted. With `intervalMs` 0 it samples as fast as possible. `host` is a
/// `HostSources` record. The sampler does not keep the process alive; `stop()` never waits for the driver.
/// Throws
/// `invalid_argument`, `no_thread`.
Napi::Value StartSampler(const Napi::CallbackInfo& info);

}  // namespace hone
