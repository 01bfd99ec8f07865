#pragma once

#include <napi.h>

#include <string>

namespace hone {

/// What went wrong, as a fact that can travel between threads. An empty `code` means that nothing did.
struct Failure {
  std::string code;     ///< for programs, such as `library_missing`
  std::string message;  ///< for people

  explicit operator bool() const { return !code.empty(); }
};

/// What a function throws when its arguments are wrong: a `TypeError` with the code `invalid_argument`.
inline Napi::Error ArgumentError(Napi::Env env, const std::string& words) {
  Napi::Error error = Napi::TypeError::New(env, words);
  error.Set("code", Napi::String::New(env, "invalid_argument"));
  return error;
}

/// The failure as a JavaScript `Error` with a string `code`. Call it on JavaScript's thread.
inline Napi::Value ToError(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.message);
  error.Set("code", Napi::String::New(env, failure.code));
  return error.Value();
}

}  // namespace hone
