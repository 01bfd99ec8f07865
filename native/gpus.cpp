#include "gpus.h"

#include <memory>
#include <vector>

#include "delivery.h"
#include "failure.h"
#include "inventory.h"
#include "process-end.h"

namespace hone {

namespace {

struct GpuFacts {
  Gpu gpu;
  std::optional<Nvml::Memory> memory;
  std::optional<std::vector<Nvml::Process>> processes;
};

struct Facts {
  Failure nvml, cuda;
  std::optional<std::string> driver_version;
  std::optional<int> cuda_version;
  size_t installed = 0;
  bool cuda_usable = false;
  std::vector<GpuFacts> gpus;
};

Facts Read() {
  Facts facts;
  const Inventory inventory = ReadInventory();
  facts.nvml = inventory.nvml_failure;
  facts.cuda = inventory.cuda.failure;
  facts.installed = inventory.installed;
  facts.cuda_usable = inventory.cuda_usable;
  facts.cuda_version = inventory.cuda.driver_version;
  if (inventory.nvml != nullptr) {
    facts.driver_version = inventory.nvml->DriverVersion();
    if (const auto version = inventory.nvml->CudaVersion()) facts.cuda_version = version;
  }
  for (const Gpu& gpu : inventory.gpus) {
    GpuFacts entry{gpu, std::nullopt, std::nullopt};
    if (gpu.handle != nullptr && !gpu.lost) {
      entry.memory = inventory.nvml->MemoryOf(gpu.handle).memory;
      entry.processes = inventory.nvml->Processes(gpu.handle);
    }
    facts.gpus.push_back(std::move(entry));
  }
  return facts;
}

Napi::Value FailureOrNull(Napi::Env env, const Failure& failure) {
  if (!failure) return env.Null();
  auto object = Napi::Object::New(env);
  object.Set("code", failure.code);
  object.Set("message", failure.message);
  return object;
}

template <typename Value>
Napi::Value NumberOrNull(Napi::Env env, const std::optional<Value>& value) {
  if (!value) return env.Null();
  return Napi::Number::New(env, static_cast<double>(*value));
}

Napi::Value TextOrNull(Napi::Env env, const std::optional<std::string>& text) {
  if (!text || text->empty()) return env.Null();
  return Napi::String::New(env, *text);
}

Napi::Value ProcessesOrNull(Napi::Env env, const std::optional<std::vector<Nvml::Process>>& processes) {
  if (!processes) return env.Null();
  auto list = Napi::Array::New(env, processes->size());
  for (uint32_t i = 0; i < processes->size(); ++i) {
    auto entry = Napi::Object::New(env);
    entry.Set("pid", Napi::Number::New(env, (*processes)[i].pid));
    entry.Set("usedBytes", NumberOrNull(env, (*processes)[i].bytes));
    list.Set(i, entry);
  }
  return list;
}

/// CUDA encodes 12.4 as 12040.
std::optional<std::string> Dotted(const std::optional<int>& version) {
  if (!version || *version <= 0) return std::nullopt;
  return std::to_string(*version / 1000) + "." + std::to_string(*version % 1000 / 10);
}

Napi::Value ToObject(Napi::Env env, const Facts& facts) {
  auto object = Napi::Object::New(env);
  object.Set("nvml", FailureOrNull(env, facts.nvml));
  object.Set("cuda", FailureOrNull(env, facts.cuda));
  object.Set("driverVersion", TextOrNull(env, facts.driver_version));
  object.Set("cudaVersion", TextOrNull(env, Dotted(facts.cuda_version)));
  object.Set("installed", Napi::Number::New(env, static_cast<double>(facts.installed)));
  object.Set("cudaUsable", Napi::Boolean::New(env, facts.cuda_usable));
  auto gpus = Napi::Array::New(env, facts.gpus.size());
  for (uint32_t i = 0; i < facts.gpus.size(); ++i) {
    const GpuFacts& facts_of = facts.gpus[i];
    const Gpu& gpu = facts_of.gpu;
    auto entry = Napi::Object::New(env);
    entry.Set("nvmlIndex", NumberOrNull(env, gpu.nvml_index));
    entry.Set("mig", Napi::Boolean::New(env, gpu.is_mig));
    entry.Set("integrated", gpu.is_integrated ? Napi::Boolean::New(env, *gpu.is_integrated) : env.Null());
    entry.Set("name", TextOrNull(env, gpu.name));
    entry.Set("uuid", TextOrNull(env, gpu.uuid));
    entry.Set("totalBytes", NumberOrNull(env, gpu.total_bytes));
    std::optional<uint64_t> free_bytes;
    std::optional<uint64_t> used_bytes;
    if (facts_of.memory) {
      free_bytes = facts_of.memory->free;
      used_bytes = facts_of.memory->used;
    }
    entry.Set("freeBytes", NumberOrNull(env, free_bytes));
    entry.Set("usedBytes", NumberOrNull(env, used_bytes));
    std::optional<std::string> capability;
    if (gpu.compute_capability) {
      capability = std::to_string(gpu.compute_capability->first) + "." +
                   std::to_string(gpu.compute_capability->second);
    }
    entry.Set("computeCapability", TextOrNull(env, capability));
    entry.Set("lost", TextOrNull(env, gpu.lost));
    entry.Set("processes", ProcessesOrNull(env, facts_of.processes));
    gpus.Set(i, entry);
  }
  object.Set("gpus", gpus);
  return object;
}

}  // namespace

Napi::Value ReadGpus(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsFunction()) throw ArgumentError(env, "readGpus takes a function");
  const auto delivery =
      Delivery::Open(env, "hone.readGpus", info[0].As<Napi::Function>(), /*keeps_alive=*/false, nullptr);
  delivery->RunAside([delivery] {
    const auto facts = std::make_shared<Facts>();
    if (ProcessEnding()) AwaitProcessEnd();
    try {
      const InsideLibrary inside;
      *facts = Read();
    } catch (const std::exception& error) {
      facts->nvml = {"internal", error.what()};
    }
    delivery->Post([delivery, facts](Napi::Env job_env) {
      // Closed first, because the callback may throw and must be called only once.
      const auto answer = delivery->callback().Value().As<Napi::Function>();
      delivery->Close();
      answer.Call({ToObject(job_env, *facts)});
    });
  });
  return env.Undefined();
}

}  // namespace hone
