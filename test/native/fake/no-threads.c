/*
 * Preloaded into a process, it gives no further thread while FAKE_NO_THREADS is set, as a system at its limit does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *data) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return getenv("FAKE_NO_THREADS") != NULL ? EAGAIN : real(thread, attributes, start, data);
}
