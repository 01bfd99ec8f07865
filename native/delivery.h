#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>

namespace hone {

/// Hands work from a thread of ours to JavaScript's, in order. It owns the JavaScript object that the work
/// may call. The thread may outlive the environment (a driver that hangs cannot be joined): a `Post` after
/// the end is refused, never delivered and never a crash.
class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  using Job = std::function<void(Napi::Env)>;

  /// Opens a way to this environment; call it on JavaScript's thread. `callback` is a function or an object
  /// with some. With `keeps_alive` the process does not end by itself while the way is open. `on_close` runs
  /// on JavaScript's thread when the way closes for any reason, the end of the environment included.
  static std::shared_ptr<Delivery> Open(Napi::Env env, const char* name, Napi::Object callback,
                                        bool keeps_alive, std::function<void()> on_close);

  /// Runs `work` on a thread of its own, which nobody waits for. When the system gives no thread, the way is
  /// closed and a `std::system_error` thrown. Call it on JavaScript's thread.
  void RunAside(std::function<void()> work);

  /// Queues the job for JavaScript's thread; false when the way is closed. Call it on any thread.
  bool Post(Job job);

  /// Closes the way and lets go of the callback; call it on JavaScript's thread, any number of times.
  void Close();

  /// The callback; empty after `Close`. On JavaScript's thread alone.
  Napi::ObjectReference& callback() { return callback_; }

 private:
  static void Run(napi_env env, napi_value, void*, void* data);
  static void OnEnvironmentEnd(void* data);

  std::mutex mutex_;  // guards `function_` against a close while another thread posts
  napi_env env_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  Napi::ObjectReference callback_;
  std::function<void()> on_close_;
  std::shared_ptr<Delivery> self_;  // held while open, so that the hook below always finds us
};

}  // namespace hone
