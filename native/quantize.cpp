#include "quantize.h"

#include <llama.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "delivery.h"
#include "failure.h"
#include "gguf-header.h"
#include "importance.h"
#include "library.h"

namespace hone {

namespace {

/// The most tensor data, in bytes, that llama.cpp may buffer. With its default of 8 GiB, an export would need
/// far more memory than one shard.
constexpr size_t kBufferBytes = size_t{256} << 20;

const std::map<std::string, llama_ftype>& Types() {
  static const auto* types = new std::map<std::string, llama_ftype>{
      {"F16", LLAMA_FTYPE_MOSTLY_F16},       {"Q8_0", LLAMA_FTYPE_MOSTLY_Q8_0},
      {"Q6_K", LLAMA_FTYPE_MOSTLY_Q6_K},     {"Q5_K_M", LLAMA_FTYPE_MOSTLY_Q5_K_M},
      {"Q4_K_M", LLAMA_FTYPE_MOSTLY_Q4_K_M}, {"Q4_0", LLAMA_FTYPE_MOSTLY_Q4_0},
      {"Q3_K_M", LLAMA_FTYPE_MOSTLY_Q3_K_M}, {"Q2_K", LLAMA_FTYPE_MOSTLY_Q2_K},
      {"IQ4_XS", LLAMA_FTYPE_MOSTLY_IQ4_XS}};
  return *types;
}

/// The engine's functions that quantization needs.
struct Engine : GgufFunctions {
  decltype(&llama_backend_init) backend_init;
  decltype(&llama_model_quantize_default_params) default_params;
  decltype(&llama_model_quantize) quantize;
  decltype(&llama_log_get) log_get;
  decltype(&llama_log_set) log_set;
};

/// Serializes runs, because the engine's log callback is global to the process.
std::mutex& RunMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// Opens the engine's libraries once and never closes them (they keep static state). Call it with `RunMutex`
/// held.
const Engine* OpenEngine(const std::string& llama_path, const std::string& base_path, Failure& failure) {
  static auto* engines = new std::map<std::string, Engine>;
  const auto known = engines->find(llama_path);
  if (known != engines->end()) return &known->second;

  Library llama = Library::Open({llama_path}, failure);
  if (!llama) return nullptr;
  // Functions are looked up in the library that defines them: Windows does not search the dependencies of a
  // library.
  Library base = Library::Open({base_path}, failure);
  if (!base) return nullptr;

  Engine engine{};
  const char* missing = nullptr;
  const auto take = [&missing](const Library& library, auto& function, const char* name) {
    function = library.Symbol<std::decay_t<decltype(function)>>({name});
    if (function == nullptr && missing == nullptr) missing = name;
  };
  take(llama, engine.backend_init, "llama_backend_init");
  take(llama, engine.default_params, "llama_model_quantize_default_params");
  take(llama, engine.quantize, "llama_model_quantize");
  take(llama, engine.log_get, "llama_log_get");
  take(llama, engine.log_set, "llama_log_set");
  take(base, engine.gguf_open, "gguf_init_from_file");
  take(base, engine.gguf_close, "gguf_free");
  take(base, engine.gguf_tensors, "gguf_get_n_tensors");
  take(base, engine.gguf_name, "gguf_get_tensor_name");
  take(base, engine.gguf_type, "gguf_get_tensor_type");
  take(base, engine.gguf_size, "gguf_get_tensor_size");
  take(base, engine.gguf_offset, "gguf_get_tensor_offset");
  take(base, engine.gguf_data_offset, "gguf_get_data_offset");
  if (missing != nullptr) {
    failure = {"library_unloadable", llama_path + " does not export " + missing};
    return nullptr;
  }
  llama.Keep();
  base.Keep();
  return &engines->emplace(llama_path, engine).first->second;
}

struct Request {
  std::string llama, base, input, output;
  std::string importance;  // empty without one
  llama_ftype type = LLAMA_FTYPE_MOSTLY_F16;
  int threads = 1;
  bool requantize = false;
};

struct Outcome {
  Failure failure;
  double bytes = 0;
  double tensors = 0;
  double fallback_tensors = 0;
};

/// Aborts the engine from its log callback. The engine has no other way to cancel, and it catches every
/// standard exception itself.
struct Cancellation : std::runtime_error {
  Cancellation() : std::runtime_error("cancelled") {}
};

/// One call of the engine; lives on the calling thread.
struct Run {
  const Engine* engine = nullptr;
  std::shared_ptr<std::atomic<bool>> cancelled;
  std::shared_ptr<Delivery> delivery;
  std::unordered_map<std::string, size_t> bytes_of;  // of the input's tensors, by name
  size_t total_bytes = 0;
  size_t done_bytes = 0;
  size_t current_bytes = 0;
  int started = 0;
  int fallback = 0;
  int write_error = 0;         // errno when the engine failed
  std::string error;           // the error that the engine reported
  std::string last_complaint;  // the last warning or error before that
  ggml_log_callback previous = nullptr;
  void* previous_data = nullptr;
};

thread_local Run* current_run = nullptr;

std::string Trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

void PostProgress(Run& run, double share) {
  const std::shared_ptr<Delivery> delivery = run.delivery;
  delivery->Post([delivery, share](Napi::Env env) {
    if (delivery->callback().IsEmpty()) return;
    delivery->callback().Value().Get("onProgress").As<Napi::Function>().Call({Napi::Number::New(env, share)});
  });
}

bool IsWriteError(int number) {
#ifdef EDQUOT
  if (number == EDQUOT) return true;
#endif
  return number == ENOSPC || number == EFBIG || number == EIO;
}

/// Parses the engine's log. In this release `llama_model_quantize` reports progress only there: it prints
/// `[ index/ total] tensor name - [shape], type = ...` when it starts a tensor.
void OnLog(ggml_log_level level, const char* text, void* data) {
  Run* run = current_run;
  if (run == nullptr) {  // a line from another thread: forward it to the previous callback
    const auto* first = static_cast<const Run*>(data);
    if (first->previous != nullptr) first->previous(level, text, first->previous_data);
    return;
  }
  // The engine's stream reports a failed write only when it is used again; until then only errno has the
  // cause.
  if (IsWriteError(errno) && run->write_error == 0) run->write_error = errno;
  errno = 0;
  constexpr const char* kGivesUp = "failed to quantize: ";
  if (const char* reason = std::strstr(text, kGivesUp)) {
    run->error = Trimmed(reason + std::strlen(kGivesUp));
    return;
  }
  if (level == GGML_LOG_LEVEL_ERROR) run->last_complaint = Trimmed(text);
  if (std::strstr(text, "-> falling back to") != nullptr) run->fallback += 1;

  int index = 0;
  int total = 0;
  char name[256] = "";
  if (std::sscanf(text, "[%d/%d] %255s", &index, &total, name) == 3) {
    run->done_bytes += std::exchange(run->current_bytes, 0);
    const auto found = run->bytes_of.find(name);
    if (found != run->bytes_of.end()) run->current_bytes = found->second;
    run->started = index;
    // A split file has tensors that its first part does not list; then only the tensor count is known.
    const bool knows_bytes = run->total_bytes > 0 && static_cast<size_t>(total) == run->bytes_of.size();
    PostProgress(*run, knows_bytes
                           ? static_cast<double>(run->done_bytes) / static_cast<double>(run->total_bytes)
                           : static_cast<double>(index - 1) / total);
  }
  // Lines of 128 bytes or more are in a heap buffer that unwinding would leak.
  if (run->cancelled->load() && std::strlen(text) < 127) throw Cancellation();
}

/// Restores the engine's log callback and this thread's run, however the call ends.
class LogCapture {
 public:
  explicit LogCapture(Run& run) : run_(run) {
    run.engine->log_get(&run.previous, &run.previous_data);
    current_run = &run;
    run.engine->log_set(OnLog, &run);
  }
  ~LogCapture() {
    run_.engine->log_set(run_.previous, run_.previous_data);
    current_run = nullptr;
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

 private:
  Run& run_;
};

Failure WhyItFailed(const Run& run) {
  const std::string reason = run.error.empty() ? run.last_complaint : run.error;
  const std::string because = reason.empty() ? "llama.cpp gave no reason" : reason;
  switch (run.write_error) {
    case ENOSPC:
#ifdef EDQUOT
    case EDQUOT:
#endif
      return {"disk_full", std::string("The disk is full: ") + std::strerror(run.write_error)};
    case EFBIG:
      return {"file_too_large", "The file system or a limit does not allow a file of this size."};
    default:
      break;
  }
  const bool write_failed =
      because.find("iostream") != std::string::npos || because.find("basic_ios") != std::string::npos;
  if (write_failed) {
    return {"write_failed",
            "Writing the quantized file failed: " +
                (run.write_error != 0 ? std::string(std::strerror(run.write_error)) : because)};
  }
  // Its entry for a tensor has another number of columns.
  if (because.rfind("imatrix size", 0) == 0) {
    return {"bad_importance", "The importance matrix is of another model: " + because};
  }
  if (run.started == 0) return {"bad_model", "llama.cpp cannot read the model: " + because};
  return {"bad_model", "llama.cpp cannot quantize the model: " + because};
}

Outcome Perform(const Request& request, const std::shared_ptr<std::atomic<bool>>& cancelled,
                const std::shared_ptr<Delivery>& delivery) {
  const std::lock_guard<std::mutex> lock(RunMutex());
  Outcome outcome;
  const Engine* engine = OpenEngine(request.llama, request.base, outcome.failure);
  if (engine == nullptr) return outcome;

  Run run;
  run.engine = engine;
  run.cancelled = cancelled;
  run.delivery = delivery;
  const LogCapture capture(run);
  try {
    engine->backend_init();
    {
      const Gguf input = OpenGguf(*engine, request.input);
      if (input == nullptr) {
        outcome.failure = {"bad_model", "The file is not a readable GGUF" +
                                            (run.last_complaint.empty() ? "." : ": " + run.last_complaint)};
        return outcome;
      }
      for (int64_t i = 0; i < engine->gguf_tensors(input.get()); ++i) {
        const size_t bytes = engine->gguf_size(input.get(), i);
        run.bytes_of[engine->gguf_name(input.get(), i)] = bytes;
        run.total_bytes += bytes;
      }
      const size_t end = EndOfData(*engine, input.get());
      const auto size = std::filesystem::file_size(std::filesystem::u8path(request.input));
      if (size < end) {
        outcome.failure = {"bad_model", "The file is truncated: it has " + std::to_string(size) +
                                            " bytes and its tensors need " + std::to_string(end) + "."};
        return outcome;
      }
    }
    Importance importance;
    if (!request.importance.empty()) {
      importance = Importance::Read(*engine, request.importance, outcome.failure);
      if (outcome.failure) return outcome;
      const auto known = [&run](const std::string& name) { return run.bytes_of.count(name) > 0; };
      if (std::none_of(importance.names().begin(), importance.names().end(), known)) {
        outcome.failure = {"bad_importance",
                           "The importance matrix is of another model: it has none of its matrices."};
        return outcome;
      }
    }
    const std::vector<llama_model_imatrix_data> entries = importance.Entries();
    llama_model_quantize_params params = engine->default_params();
    if (!request.importance.empty()) params.imatrix = entries.data();
    params.nthread = request.threads;
    params.allow_requantize = request.requantize;
    params.ftype = request.type;
    params.max_buf_size = kBufferBytes;
    errno = 0;
    const uint32_t status = engine->quantize(request.input.c_str(), request.output.c_str(), &params);
    if (cancelled->load() && status != 0) {
      outcome.failure = {"cancelled", "Quantization was cancelled."};
      return outcome;
    }
    if (status != 0) {
      outcome.failure = WhyItFailed(run);
      return outcome;
    }
    // A stream does not always report that its last bytes were not written, so the file size is checked.
    const Gguf output = OpenGguf(*engine, request.output);
    const auto size = std::filesystem::file_size(std::filesystem::u8path(request.output));
    if (output == nullptr || size < EndOfData(*engine, output.get())) {
      outcome.failure = {"write_failed", "The quantized file is incomplete."};
      return outcome;
    }
    outcome.bytes = static_cast<double>(size);
    outcome.tensors = run.started;
    outcome.fallback_tensors = run.fallback;
  } catch (const Cancellation&) {
    outcome.failure = {"cancelled", "Quantization was cancelled."};
  } catch (const std::exception& error) {
    outcome.failure = {"internal", error.what()};
  }
  return outcome;
}

std::string Text(const Napi::Object& options, const char* name) {
  const Napi::Value value = options.Get(name);
  if (!value.IsString()) throw ArgumentError(options.Env(), std::string(name) + " must be a string");
  return value.As<Napi::String>().Utf8Value();
}

}  // namespace

Napi::Value Quantize(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() < 1 || !info[0].IsObject()) throw ArgumentError(env, "quantize takes one object");
  const auto options = info[0].As<Napi::Object>();
  Request request;
  request.llama = Text(options, "llama");
  request.base = Text(options, "ggmlBase");
  request.input = Text(options, "input");
  request.output = Text(options, "output");
  if (options.Get("importance").IsString()) request.importance = Text(options, "importance");
  request.requantize = options.Get("requantize").ToBoolean();
  const Napi::Value threads = options.Get("threads");
  if (threads.IsNumber()) request.threads = std::max(1, threads.As<Napi::Number>().Int32Value());
  for (const char* name : {"onProgress", "onEnd"}) {
    if (!options.Get(name).IsFunction()) throw ArgumentError(env, std::string(name) + " must be a function");
  }
  const std::string type_name = Text(options, "type");
  const auto type = Types().find(type_name);
  Failure refusal;
  if (type == Types().end()) {
    std::string all;
    for (const auto& [name, unused] : Types()) all += (all.empty() ? "" : ", ") + name;
    refusal = {"unsupported_type", "There is no type \"" + type_name + "\"; there are " + all + "."};
  } else {
    request.type = type->second;
  }

  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  const auto delivery = Delivery::Open(env, "hone.quantize", options, /*keeps_alive=*/true,
                                       [cancelled] { cancelled->store(true); });
  delivery->RunAside([request, refusal, cancelled, delivery] {
    Outcome outcome;
    outcome.failure = refusal;
    if (!refusal) outcome = Perform(request, cancelled, delivery);
    delivery->Post([delivery, outcome](Napi::Env job_env) {
      const auto on_end = delivery->callback().Value().Get("onEnd").As<Napi::Function>();
      delivery->Close();
      if (outcome.failure) {
        on_end.Call({ToError(job_env, outcome.failure), job_env.Null()});
        return;
      }
      auto result = Napi::Object::New(job_env);
      result.Set("bytes", outcome.bytes);
      result.Set("tensors", outcome.tensors);
      result.Set("fallbackTensors", outcome.fallback_tensors);
      on_end.Call({job_env.Null(), result});
    });
  });

  auto handle = Napi::Object::New(env);
  handle.Set("cancel",
             Napi::Function::New(env, [cancelled](const Napi::CallbackInfo&) { cancelled->store(true); }));
  return handle;
}

}  // namespace hone
