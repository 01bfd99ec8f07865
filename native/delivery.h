#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>

namespace hone {

/// Sends work from one of our threads to the JavaScript thread, in order. It owns the JavaScript object that
/// the work may call. The thread may outlive the environment (a thread hanging in a driver cannot be joined):
/// `Post` after shutdown is rejected, never delivered and never a crash.
class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  using Job = std::function<void(Napi::Env)>;

  /// Opens a queue to this environment; call it on the JavaScript thread. `callback` is a function or an
  /// object of functions. With `keeps_alive` the process does not exit while the queue is open. `on_close`
  /// runs on the JavaScript thread when the queue closes for any reason, including shutdown of the
  /// environment.
  static std::shared_ptr<Delivery> Open(Napi::Env env, const char* name, Napi::Object callback,
                                        bool keeps_alive, std::function<void()> on_close);

  /// Runs `work` on a new, detached thread. If the system cannot create a thread, the queue is closed and
  /// `std::system_error` is thrown. Call it on the JavaScript thread.
  void RunAside(std::function<void()> work);

  /// Queues a job for the JavaScript thread; false if the queue is closed. Call it on any thread.
  bool Post(Job job);

  /// Closes the queue and releases the callback. Call it on the JavaScript thread; repeated calls are
  /// allowed.
  void Close();

  /// The callback; empty after `Close`. Call it only on the JavaScript thread.
  Napi::ObjectReference& callback() { return callback_; }

 private:
  static void Run(napi_env env, napi_value, void*, void* data);
  static void OnEnvironmentEnd(void* data);

  std::mutex mutex_;  // guards `function_` against a close while another thread posts
  napi_env env_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  Napi::ObjectReference callback_;
  std::function<void()> on_close_;
  std::shared_ptr<Delivery>
      self_;  // held while open, so that the environment's cleanup hook always finds this object
};

}  // namespace hone
