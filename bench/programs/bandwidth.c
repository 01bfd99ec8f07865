/*
 * How quickly memory is read:  bandwidth THREADS BYTES PASSES
 *
 * Each thread reads a part of its own of a buffer of so many bytes, which must be far larger than the caches,
 * from its beginning to its end, as decoding reads the weights of a model. Prints the bytes per second of the
 * median pass.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Several sums side by side, so that the processor waits for memory and not for the one before. */
typedef uint64_t lanes __attribute__((vector_size(64)));

struct part {
  const lanes* begin;
  size_t count;
  int passes;
  pthread_barrier_t* together;
  uint64_t sum;
};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char* what) {
  fprintf(stderr, "bandwidth: %s\n", what);
  exit(1);
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void* read_part(void* argument) {
  struct part* part = argument;
  for (int pass = 0; pass < part->passes; pass++) {
    pthread_barrier_wait(part->together);
    lanes one = {0}, other = {0};
    for (size_t i = 0; i + 1 < part->count; i += 2) {
      one += part->begin[i];
      other += part->begin[i + 1];
    }
    one += other;
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) part->sum += one[i];
    pthread_barrier_wait(part->together);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: bandwidth THREADS BYTES PASSES");
  const int threads = atoi(argv[1]), passes = atoi(argv[3]);
  if (threads < 1 || passes < 1) fail("THREADS and PASSES must be at least 1");
  const size_t count = (size_t)atoll(argv[2]) / sizeof(lanes) / (size_t)threads / 2 * 2;
  if (count == 0) fail("BYTES must be at least 128 for each thread");
  const size_t bytes = count * (size_t)threads * sizeof(lanes);
  lanes* buffer = aligned_alloc(sizeof(lanes), bytes);
  struct part* parts = calloc((size_t)threads, sizeof *parts);
  pthread_t* ids = calloc((size_t)threads, sizeof *ids);
  double* took = calloc((size_t)passes, sizeof *took);
  if (!buffer || !parts || !ids || !took) fail("out of memory");
  /* Without it, all pages would be the same page of zeros. */
  memset(buffer, 1, bytes);

  pthread_barrier_t together;
  if (pthread_barrier_init(&together, NULL, (unsigned)threads + 1) != 0) fail("no barrier");
  for (int i = 0; i < threads; i++) {
    parts[i] = (struct part){
        .begin = buffer + (size_t)i * count, .count = count, .passes = passes, .together = &together};
    if (pthread_create(&ids[i], NULL, read_part, &parts[i]) != 0) fail("no thread");
  }
  for (int pass = 0; pass < passes; pass++) {
    const double begun = now();
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    took[pass] = now() - begun;
  }
  uint64_t sum = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    sum += parts[i].sum;
  }
  /* All was read: each word is eight bytes of 1. */
  const uint64_t words = (uint64_t)(bytes / sizeof(uint64_t)) * (uint64_t)passes;
  if (sum != words * UINT64_C(0x0101010101010101)) fail("the sum is wrong");
  qsort(took, (size_t)passes, sizeof *took, by_size);
  printf("%.0f\n", (double)bytes / took[passes / 2]);
  return 0;
}
