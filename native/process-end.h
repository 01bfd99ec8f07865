#pragma once

namespace hone {

/// Whether the process has begun to end: a thread of ours must then call no library any more, since exit
/// handlers are taking those libraries apart.
bool ProcessEnding();

/// Holds a thread of ours still until the process is gone: it must neither go on nor give back what it has.
[[noreturn]] void AwaitProcessEnd();

/// Counts a thread as being inside a library while it lives. The end of the process waits for it a little
/// (100 ms at most: a driver that hangs must not keep the process).
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
