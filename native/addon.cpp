#include <napi.h>

#include <cstdlib>

#include "aligned-memory.h"
#include "duplicates.h"
#include "gpus.h"
#include "process-end.h"
#include "quantize.h"
#include "rows.h"
#include "sampler.h"

namespace {

/// `exitNow(code)`: ends the process without exit handlers, which would race with a thread inside llama.cpp.
Napi::Value ExitNow(const Napi::CallbackInfo& info) {
  std::_Exit(info.Length() > 0 && info[0].IsNumber() ? info[0].As<Napi::Number>().Int32Value() : 1);
}

Napi::Object Register(Napi::Env env, Napi::Object exports) {
  hone::WatchProcessEnd();
  exports.Set("llamaRelease", Napi::String::New(env, HONE_LLAMA_RELEASE));
  exports.Set("readGpus", Napi::Function::New(env, hone::ReadGpus, "readGpus"));
  exports.Set("quantize", Napi::Function::New(env, hone::Quantize, "quantize"));
  exports.Set("scanRows", Napi::Function::New(env, hone::ScanRows, "scanRows"));
  exports.Set("findDuplicates", Napi::Function::New(env, hone::FindDuplicates, "findDuplicates"));
  exports.Set("alignedMemory", Napi::Function::New(env, hone::AlignedMemory, "alignedMemory"));
  exports.Set("startSampler", Napi::Function::New(env, hone::StartSampler, "startSampler"));
  exports.Set("exitNow", Napi::Function::New(env, ExitNow, "exitNow"));
  return exports;
}

}  // namespace

NODE_API_MODULE(hone, Register)
