/*
 * Starts threads as llama.cpp does, as a program whose file is named as its library:  libggml-threads TRIALS
 * Several threads keep each processor but the first busy, so that the system would start new threads on the first. Prints
 * how many of the trials were started on a chosen processor, as the library of `thread-watch.c` counts them, how many began
 * on another than their caller's, and in how many the thread may use all of them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { busy_threads = 3, most_threads = CPU_SETSIZE };
static atomic_int ended;

static void *spin(void *processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(*(int *)processor, &one);
  sched_setaffinity(0, sizeof one, &one);
  while (!ended) sched_yield();
  return NULL;
}

static void *look(void *found) {
  int *const told = found;
  told[0] = sched_getcpu();
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) told[1] = CPU_COUNT(&allowed);
  return NULL;
}

int main(int count, char **arguments) {
  cpu_set_t all;
  const int *const placed = dlsym(RTLD_DEFAULT, "placed_threads");
  if (count < 2 || placed == NULL || sched_getaffinity(0, sizeof all, &all) != 0) return 1;
  pthread_t spinning[most_threads];
  static int processors[most_threads];
  int others = 0, own = -1;
  for (int processor = 0; processor < CPU_SETSIZE && others + busy_threads <= most_threads; ++processor) {
    if (!CPU_ISSET(processor, &all)) continue;
    if (own < 0) {
      own = processor;
      continue;
    }
    for (int thread = 0; thread < busy_threads; ++thread, ++others) {
      processors[others] = processor;
      if (pthread_create(&spinning[others], NULL, spin, &processors[others]) != 0) return 1;
    }
  }
  const int trials = atoi(arguments[1]);
  const int before = *placed;
  int elsewhere = 0, free = 0;
  for (int trial = 0; trial < trials; ++trial) {
    int told[2] = {-1, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, look, told) != 0) return 1;
    const int here = sched_getcpu();
    pthread_join(thread, NULL);
    elsewhere += told[0] != here;
    free += told[1] == CPU_COUNT(&all);
  }
  ended = 1;
  for (int at = 0; at < others; ++at) pthread_join(spinning[at], NULL);
  printf("{\"placed\":%d,\"elsewhere\":%d,\"free\":%d}\n", *placed - before, elsewhere, free);
  return 0;
}
