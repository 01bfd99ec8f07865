#pragma once

#include <napi.h>

#include <string>

namespace hone {

/// An error as a value that can be passed between threads. An empty `code` means success.
struct Failure {
  std::string code;     ///< machine-readable, such as `library_missing`
  std::string message;  ///< human-readable

  explicit operator bool() const { return !code.empty(); }
};

/// The exception for invalid arguments: a `TypeError` with the code `invalid_argument`.
inline Napi::Error ArgumentError(Napi::Env env, const std::string& words) {
  Napi::Error error = Napi::TypeError::New(env, words);
  error.Set("code", Napi::String::New(env, "invalid_argument"));
  return error;
}

/// The failure as a JavaScript `Error` with a string `code`. Call it on the JavaScript thread.
inline Napi::Value ToError(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.message);
  error.Set("code", Napi::String::New(env, failure.code));
  return error.Value();
}

}  // namespace hone
