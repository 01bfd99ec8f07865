#include "delivery.h"

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "failure.h"

namespace hone {

std::shared_ptr<Delivery> Delivery::Open(Napi::Env env, const char* name, Napi::Object callback,
                                         bool keeps_alive, std::function<void()> on_close) {
  auto delivery = std::make_shared<Delivery>();
  delivery->env_ = env;
  delivery->on_close_ = std::move(on_close);
  delivery->callback_ = Napi::Persistent(callback);
  const napi_status status =
      napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, name), 0, 1, nullptr,
                                      nullptr, nullptr, Run, &delivery->function_);
  if (status != napi_ok) throw Napi::Error::New(env);
  if (!keeps_alive) napi_unref_threadsafe_function(env, delivery->function_);
  delivery->self_ = delivery;
  napi_add_env_cleanup_hook(env, OnEnvironmentEnd, delivery.get());
  return delivery;
}

void Delivery::RunAside(std::function<void()> work) {
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& error) {
    Close();
    const Failure failure{"no_thread", std::string("The system gives no thread: ") + error.what()};
    throw Napi::Error(env_, ToError(env_, failure));
  }
}

bool Delivery::Post(Job job) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (function_ == nullptr) return false;
  auto owned = std::make_unique<Job>(std::move(job));
  if (napi_call_threadsafe_function(function_, owned.get(), napi_tsfn_nonblocking) != napi_ok) return false;
  owned.release();  // `Run` owns it now
  return true;
}

void Delivery::Close() {
  const std::shared_ptr<Delivery> alive = std::exchange(self_, nullptr);
  if (alive == nullptr) return;
  napi_threadsafe_function function = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    function = std::exchange(function_, nullptr);
  }
  napi_remove_env_cleanup_hook(env_, OnEnvironmentEnd, this);
  // Queued jobs still run (or are freed when the environment shuts down): release, not abort.
  napi_release_threadsafe_function(function, napi_tsfn_release);
  if (on_close_) on_close_();
  callback_.Reset();
}

void Delivery::Run(napi_env raw_env, napi_value, void*, void* data) {
  const std::unique_ptr<Job> job(static_cast<Job*>(data));
  if (raw_env == nullptr) return;  // the environment is shutting down: free the job without calling it
  const Napi::Env env(raw_env);
  const Napi::HandleScope scope(env);
  try {
    (*job)(env);
  } catch (const Napi::Error& error) {
    // Exceptions from the callback are treated like those of an event listener: `uncaughtException`.
    napi_fatal_exception(env, error.Value());
  } catch (const std::exception& error) {
    napi_fatal_exception(env, Napi::Error::New(env, error.what()).Value());
  }
}

void Delivery::OnEnvironmentEnd(void* data) { static_cast<Delivery*>(data)->Close(); }

}  // namespace hone
