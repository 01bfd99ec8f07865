#include <napi.h>

#include <cstdlib>

#include "quantize.h"

namespace {

/// `exitNow(code)`: ends the process without exit handlers, which would race with a thread inside llama.cpp.
Napi::Value ExitNow(const Napi::CallbackInfo& info) {
  std::_Exit(info.Length() > 0 && info[0].IsNumber() ? info[0].As<Napi::Number>().Int32Value() : 1);
}

Napi::Object Register(Napi::Env env, Napi::Object exports) {
  exports.Set("llamaRelease", Napi::String::New(env, HONE_LLAMA_RELEASE));
  exports.Set("quantize", Napi::Function::New(env, hone::Quantize, "quantize"));
  exports.Set("exitNow", Napi::Function::New(env, ExitNow, "exitNow"));
  return exports;
}

}  // namespace

NODE_API_MODULE(hone, Register)
