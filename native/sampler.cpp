#include "sampler.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "delivery.h"
#include "failure.h"
#include "gpu-reader.h"
#include "host.h"
#include "process-end.h"

namespace hone {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxWaitingFrames = 512;
/// How long a frame waits for the driver when sampling as fast as possible.
constexpr std::chrono::milliseconds kPatience{10000};

// Values of the field `gpuState` of a frame.
constexpr double kNoGpu = 0;
constexpr double kGpuRead = 1;
constexpr double kGpuLate = 2;

/// The thread that waits for the driver. It makes one reading at a time, on request.
class DriverThread {
 public:
  DriverThread() : state_(std::make_shared<State>()) {
    std::thread([state = state_] { Loop(*state); }).detach();
  }
  ~DriverThread() {
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      state_->stop = true;
    }
    state_->changed.notify_all();
  }
  DriverThread(const DriverThread&) = delete;
  DriverThread& operator=(const DriverThread&) = delete;

  /// The result of a reading that ended since the last call; requests a reading first unless one is in
  /// progress. Waits until `deadline` at most; empty if the driver takes longer.
  std::optional<std::vector<GpuFigures>> Ask(Clock::time_point deadline) {
    std::unique_lock<std::mutex> lock(state_->mutex);
    if (!state_->answer) state_->asked = true;
    state_->changed.notify_all();
    state_->changed.wait_until(lock, deadline, [this] { return state_->answer.has_value(); });
    return std::exchange(state_->answer, std::nullopt);
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool asked = false;
    bool stop = false;
    std::optional<std::vector<GpuFigures>> answer;
  };

  static void Loop(State& state) {
    auto reader = std::make_unique<GpuReader>();
    while (true) {
      {
        std::unique_lock<std::mutex> lock(state.mutex);
        state.changed.wait(lock, [&state] { return state.asked || state.stop; });
        if (state.stop) break;
      }
      if (ProcessEnding()) AwaitProcessEnd();
      std::vector<GpuFigures> figures;
      try {
        const InsideLibrary inside;
        figures = reader->Read();
      } catch (const std::exception&) {
        figures.clear();  // out of memory: this reading has no GPU figures
      }
      {
        const std::lock_guard<std::mutex> lock(state.mutex);
        state.asked = false;
        state.answer = std::move(figures);
      }
      state.changed.notify_all();
    }
    if (ProcessEnding()) AwaitProcessEnd();  // NVML's shutdown would race with its exit handlers
    const InsideLibrary inside;
    reader.reset();
  }

  std::shared_ptr<State> state_;  // outlives this object while the thread hangs
};

struct Settings {
  std::chrono::milliseconds interval{200};
  std::chrono::milliseconds batch{1000};
  bool gpus = true;
  HostSources host;
};

/// Shared by the JavaScript thread and the timer thread.
struct Sampler {
  std::mutex mutex;
  std::condition_variable stopping;
  bool stop = false;
  bool posted = false;  // a batch is being delivered: further frames wait for the next one
  std::deque<std::vector<double>> waiting;
  double dropped = 0;
  std::shared_ptr<Delivery> delivery;
};

void Append(std::vector<double>& frame, const GpuFigures& gpu) {
  frame.insert(frame.end(), {gpu.lost ? 1.0 : 0.0, gpu.utilization_percent, gpu.memory_utilization_percent,
                             gpu.used_bytes, gpu.total_bytes, gpu.temperature_celsius, gpu.power_watts,
                             gpu.energy_joules, gpu.sm_clock_mhz, gpu.memory_clock_mhz, gpu.throttle_reasons,
                             gpu.pcie_tx_bytes_per_second, gpu.pcie_rx_bytes_per_second,
                             gpu.processes ? static_cast<double>(gpu.processes->size()) : kUnknown});
  if (!gpu.processes) return;
  for (const Nvml::Process& process : *gpu.processes) {
    frame.push_back(process.pid);
    frame.push_back(process.bytes ? static_cast<double>(*process.bytes) : kUnknown);
  }
}

std::vector<double> MakeFrame(const HostFigures& host, const std::optional<std::vector<GpuFigures>>& gpus,
                              bool asked, Clock::time_point last_answer) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const double late_ms = std::chrono::duration<double, std::milli>(Clock::now() - last_answer).count();
  const double state = !asked ? kNoGpu : gpus ? (gpus->empty() ? kNoGpu : kGpuRead) : kGpuLate;
  std::vector<double> frame = {0,  // the length, set below
                               std::chrono::duration<double, std::milli>(since_epoch).count(),
                               host.cpu_percent,
                               host.ram_used_bytes,
                               host.ram_total_bytes,
                               host.package_watts,
                               state,
                               state == kGpuLate ? late_ms : 0,
                               gpus ? static_cast<double>(gpus->size()) : 0};
  if (gpus) {
    for (const GpuFigures& gpu : *gpus) Append(frame, gpu);
  }
  frame[0] = static_cast<double>(frame.size());
  return frame;
}

/// Runs on the JavaScript thread: takes the waiting frames and calls `onBatch`.
void DeliverBatch(Napi::Env env, const std::shared_ptr<Sampler>& sampler) {
  std::deque<std::vector<double>> frames;
  double dropped = 0;
  {
    const std::lock_guard<std::mutex> lock(sampler->mutex);
    sampler->posted = false;
    if (sampler->stop) return;
    frames.swap(sampler->waiting);
    dropped = std::exchange(sampler->dropped, 0);
  }
  size_t length = 1;
  for (const auto& frame : frames) length += frame.size();
  auto batch = Napi::Float64Array::New(env, length);
  double* next = batch.Data();
  *next++ = dropped;
  for (const auto& frame : frames) next = std::copy(frame.begin(), frame.end(), next);
  sampler->delivery->callback().Value().As<Napi::Function>().Call({batch});
}

/// Null if the system cannot create a thread; the driver then counts as late.
std::unique_ptr<DriverThread> OpenDriver() {
  try {
    return std::make_unique<DriverThread>();
  } catch (const std::system_error&) {
    return nullptr;
  }
}

void KeepTime(const Settings& settings, const std::shared_ptr<Sampler>& sampler) {
  HostReader host(settings.host);
  std::unique_ptr<DriverThread> driver;
  Clock::time_point next = Clock::now();
  Clock::time_point next_batch = next + settings.batch;
  Clock::time_point last_answer = next;
  while (true) {
    const Clock::time_point begun = Clock::now();
    std::optional<std::vector<GpuFigures>> gpus;
    if (settings.gpus && driver == nullptr) driver = OpenDriver();
    if (driver != nullptr) {
      const auto patience = settings.interval.count() == 0 ? kPatience : settings.interval;
      gpus = driver->Ask(begun + patience);
      if (gpus) last_answer = Clock::now();
    }
    std::vector<double> frame = MakeFrame(host.Read(), gpus, settings.gpus, last_answer);

    std::unique_lock<std::mutex> lock(sampler->mutex);
    if (sampler->stop || ProcessEnding()) return;
    sampler->waiting.push_back(std::move(frame));
    if (sampler->waiting.size() > kMaxWaitingFrames) {
      sampler->waiting.pop_front();
      sampler->dropped += 1;
    }
    if (!sampler->posted && Clock::now() >= next_batch) {
      sampler->posted = true;
      next_batch = Clock::now() + settings.batch;
      lock.unlock();
      sampler->delivery->Post([sampler](Napi::Env env) { DeliverBatch(env, sampler); });
      lock.lock();
    }
    next += settings.interval;
    // After a pause (such as system sleep) continue from now instead of catching up.
    next = std::max(next, Clock::now());
    if (sampler->stopping.wait_until(lock, next, [&sampler] { return sampler->stop; })) return;
  }
}

std::string TextOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = object.Get(name);
  return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

double NumberOf(const Napi::Object& object, const char* name, double otherwise) {
  const Napi::Value value = object.Get(name);
  return value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : otherwise;
}

template <typename Take>
void ForEach(const Napi::Object& object, const char* name, Take take) {
  const Napi::Value value = object.Get(name);
  if (!value.IsArray()) return;
  const auto list = value.As<Napi::Array>();
  for (uint32_t i = 0; i < list.Length(); ++i) take(list.Get(i));
}

HostSources ToSources(const Napi::Object& object) {
  HostSources sources;
  sources.proc_stat = TextOf(object, "procStat");
  ForEach(object, "cpus", [&](Napi::Value cpu) { sources.cpus.push_back(cpu.ToNumber().Int32Value()); });
  sources.cgroup_cpu = TextOf(object, "cgroupCpu");
  sources.quota_cores = NumberOf(object, "quotaCores", 0);
  sources.meminfo = TextOf(object, "meminfo");
  sources.memory_limit_bytes = NumberOf(object, "memoryLimitBytes", 0);
  sources.cgroup_memory = TextOf(object, "cgroupMemory");
  sources.cgroup_memory_stat = TextOf(object, "cgroupMemoryStat");
  ForEach(object, "energy", [&](Napi::Value path) { sources.energy.push_back(path.ToString().Utf8Value()); });
  ForEach(object, "energyRangeMicrojoules",
          [&](Napi::Value range) { sources.energy_range.push_back(range.ToNumber().DoubleValue()); });
  return sources;
}

}  // namespace

Napi::Value StartSampler(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsObject()) throw ArgumentError(env, "startSampler takes one object");
  const auto options = info[0].As<Napi::Object>();
  if (!options.Get("onBatch").IsFunction()) throw ArgumentError(env, "onBatch must be a function");
  const auto milliseconds = [&options, &env](const char* name, double otherwise) {
    const double value = NumberOf(options, name, otherwise);
    if (!(value >= 0 && value <= 3600000)) throw ArgumentError(env, std::string(name) + " is out of range");
    return std::chrono::milliseconds(static_cast<int64_t>(value));
  };
  Settings settings;
  settings.interval = milliseconds("intervalMs", 200);
  settings.batch = milliseconds("batchMs", 1000);
  settings.gpus = options.Get("gpus").ToBoolean();
  if (options.Get("host").IsObject()) settings.host = ToSources(options.Get("host").As<Napi::Object>());

  const auto sampler = std::make_shared<Sampler>();
  sampler->delivery = Delivery::Open(env, "hone.sampler", options.Get("onBatch").As<Napi::Function>(),
                                     /*keeps_alive=*/false, [weak = std::weak_ptr<Sampler>(sampler)] {
                                       const auto ended = weak.lock();
                                       if (ended == nullptr) return;
                                       {
                                         const std::lock_guard<std::mutex> lock(ended->mutex);
                                         ended->stop = true;
                                       }
                                       ended->stopping.notify_all();
                                     });
  sampler->delivery->RunAside([settings, sampler] {
    try {
      KeepTime(settings, sampler);
    } catch (const std::exception&) {
      // Out of memory: sampling stops, the process continues.
    }
  });

  auto handle = Napi::Object::New(env);
  handle.Set("stop",
             Napi::Function::New(env, [sampler](const Napi::CallbackInfo&) { sampler->delivery->Close(); }));
  return handle;
}

}  // namespace hone
