#pragma once

namespace hone {

/// Whether the process has started to exit. Our threads must then no longer call libraries, because exit
/// handlers are shutting them down.
bool ProcessEnding();

/// Blocks a thread until the process is gone, so that it neither continues nor releases its resources.
[[noreturn]] void AwaitProcessEnd();

/// Marks a thread as being inside a library during its lifetime. Process exit waits for it for up to 100 ms,
/// so that a hanging driver cannot block the exit.
class InsideLibrary {
 public:
  InsideLibrary();
  ~InsideLibrary();
  InsideLibrary(const InsideLibrary&) = delete;
  InsideLibrary& operator=(const InsideLibrary&) = delete;
};

/// Registers the exit handler; call it once per process.
void WatchProcessEnd();

}  // namespace hone
