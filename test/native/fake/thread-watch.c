/*
 * Preloaded into a process behind what is tested, it counts in `placed_threads` the threads that are started on a
 * processor of their caller's choice.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

int placed_threads = 0;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *data) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  cpu_set_t first;
  if (attributes != NULL && pthread_attr_getaffinity_np(attributes, sizeof first, &first) == 0)
    placed_threads += CPU_COUNT(&first) == 1;
  return real(thread, attributes, start, data);
}
