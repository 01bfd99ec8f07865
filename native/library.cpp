#include "library.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace hone {

namespace {

#ifdef _WIN32

std::wstring Wide(const std::string& text) {
  const int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0);
  std::wstring wide(static_cast<size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), wide.data(), length);
  return wide;
}

void* OpenOne(const std::string& name, bool& missing, std::string& words) {
  const bool is_path = name.find_first_of("/\\") != std::string::npos;
  // With a path, dependencies are searched for in the library's own folder. With a bare name, only the system
  // folder is searched, so that a file in the working directory cannot be loaded as a driver.
  const DWORD flags = is_path ? LOAD_WITH_ALTERED_SEARCH_PATH : LOAD_LIBRARY_SEARCH_SYSTEM32;
  HMODULE module = LoadLibraryExW(Wide(name).c_str(), nullptr, flags);
  if (module != nullptr) return module;
  const DWORD code = GetLastError();
  missing = code == ERROR_MOD_NOT_FOUND || code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
  words = name + ": Windows error " + std::to_string(code);
  return nullptr;
}

#else

void* OpenOne(const std::string& name, bool& missing, std::string& words) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return handle;
  const char* reason = dlerror();
  words = reason == nullptr ? name : reason;
  // For a missing library, the message of glibc and musl starts with its name; for a missing dependency, with
  // the dependency's.
  missing = words.compare(0, name.size(), name) == 0 && (words.find("No such file") != std::string::npos ||
                                                         words.find("no such file") != std::string::npos);
  return nullptr;
}

#endif

}  // namespace

Library& Library::operator=(Library&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

Library::~Library() {
  if (handle_ == nullptr) return;
#ifdef _WIN32
  FreeLibrary(static_cast<HMODULE>(handle_));
#else
  dlclose(handle_);
#endif
}

Library Library::Open(const std::vector<std::string>& names, Failure& failure) {
  Library library;
  std::string all_words;
  bool all_missing = true;
  for (const std::string& name : names) {
    bool missing = false;
    std::string words;
    library.handle_ = OpenOne(name, missing, words);
    if (library.handle_ != nullptr) return library;
    all_missing = all_missing && missing;
    all_words += (all_words.empty() ? "" : "; ") + words;
  }
  failure = Failure{all_missing ? "library_missing" : "library_unloadable", all_words};
  return library;
}

void* Library::Address(const char* name) const {
#ifdef _WIN32
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
#else
  return dlsym(handle_, name);
#endif
}

}  // namespace hone
