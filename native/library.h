#pragma once

#include <string>
#include <utility>
#include <vector>

#include "failure.h"

namespace hone {

/// A shared library opened at run time. Move-only; closed on destruction unless it is kept open.
class Library {
 public:
  Library() = default;
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library& operator=(Library&& other) noexcept;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  /// Opens the first of `names` (paths or bare names, UTF-8) that the loader finds. On failure the library
  /// stays closed and `failure` is `library_missing` (none of the names exists) or `library_unloadable` (one
  /// exists but cannot be loaded), with the loader's message.
  static Library Open(const std::vector<std::string>& names, Failure& failure);

  explicit operator bool() const { return handle_ != nullptr; }

  /// The first of `names` that the library exports, or null. List the newest first; older drivers lack it.
  template <typename Function>
  Function Symbol(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (void* address = Address(name)) return reinterpret_cast<Function>(address);
    }
    return nullptr;
  }

  /// Never closes the library: its threads or exit handlers may outlive this object.
  void Keep() { handle_ = nullptr; }

 private:
  void* Address(const char* name) const;

  void* handle_ = nullptr;
};

}  // namespace hone
