#include "process-end.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace hone {

namespace {

// Constant-initialized and trivially destructible, so that they stay valid until the process is gone.
std::atomic<bool> ending{false};
std::atomic<int> inside{0};

void OnProcessEnd() {
  ending.store(true);
  for (int waited_ms = 0; inside.load() > 0 && waited_ms < 100; ++waited_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

bool ProcessEnding() { return ending.load(); }

void AwaitProcessEnd() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

InsideLibrary::InsideLibrary() { inside.fetch_add(1); }

InsideLibrary::~InsideLibrary() { inside.fetch_sub(1); }

void WatchProcessEnd() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(OnProcessEnd); });
}

}  // namespace hone
