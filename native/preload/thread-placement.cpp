/**
 * @file
 * Starts each of llama.cpp's threads on a processor of its own. Preloaded into the engine's process
 * (`LD_PRELOAD`).
 *
 * llama.cpp starts its threads anew for every step and joins them when it has ended. A step takes
 * milliseconds, less than the scheduler needs to notice that a new thread shares a processor with one that
 * spins while it waits for it. A new thread is therefore started on the next processor, and may move from
 * there like any other.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

namespace {

using Start = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Start, void*);

/** What a thread runs, and the processors that it may use. */
struct Work {
  Start start;
  void* argument;
  cpu_set_t allowed;
};

Create TheirCreate() {
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create;
}

/** Whether code at this address belongs to ggml, llama.cpp's library of operations. */
bool IsGgml(const void* address) {
  Dl_info found;
  if (dladdr(address, &found) == 0 || found.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(found.dli_fname, '/');
  return std::strncmp(slash == nullptr ? found.dli_fname : slash + 1, "libggml", 7) == 0;
}

/** Whether a core runs several threads at a time. Neighbours may then share one, and the kernel chooses
 * better. */
bool SharesCores() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/sys/devices/system/cpu/smt/active", "re"),
                                                   std::fclose);
  return file != nullptr && std::fgetc(file.get()) == '1';
}

/** The allowed processor after the one of this thread's last call, or -1; never that on which it runs. */
int NextProcessor(const cpu_set_t& allowed) {
  thread_local int last = -1;
  const int own = sched_getcpu();
  for (int step = 1; step <= CPU_SETSIZE; ++step) {
    const int processor = (last + step) % CPU_SETSIZE;
    if (processor != own && CPU_ISSET(processor, &allowed)) return last = processor;
  }
  return -1;
}

void* Run(void* given) {
  const Work work = *std::unique_ptr<Work>(static_cast<Work*>(given));
  pthread_setaffinity_np(pthread_self(), sizeof work.allowed, &work.allowed);
  return work.start(work.argument);
}

/** Starts a thread on the next processor; -1 if that is not possible. */
int CreatePlaced(pthread_t* thread, Start start, void* argument) {
  static const bool sharesCores = SharesCores();
  std::unique_ptr<Work> work(new (std::nothrow) Work{start, argument, {}});
  if (sharesCores || work == nullptr || sched_getaffinity(0, sizeof work->allowed, &work->allowed) != 0)
    return -1;
  const int processor = NextProcessor(work->allowed);
  pthread_attr_t attributes;
  if (processor < 0 || pthread_attr_init(&attributes) != 0) return -1;
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(processor, &first);
  int failure = pthread_attr_setaffinity_np(&attributes, sizeof first, &first);
  if (failure == 0) failure = TheirCreate()(thread, &attributes, Run, work.get());
  pthread_attr_destroy(&attributes);
  if (failure != 0) return -1;
  work.release();
  return 0;
}

}  // namespace

/** Stands in front of the C library's function of this name. */
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     Start start, void* argument) {
  if (attributes == nullptr && IsGgml(__builtin_return_address(0)) &&
      CreatePlaced(thread, start, argument) == 0)
    return 0;
  return TheirCreate()(thread, attributes, start, argument);
}
