/*
 * What the fake NVIDIA libraries play, read from the environment at every call so that one process can play
 * one scenario after the other:
 *
 *   FAKE_GPU_COUNT      devices (1 when absent)
 *   FAKE_GPU_INIT       status of nvmlInit
 *   FAKE_GPU_FAIL       statuses of single functions, such as "nvmlDeviceGetPowerUsage=3,nvmlDeviceGetName=4";
 *                       the name is that of the newest version
 *   FAKE_GPU_DELAY_MS   how long every call takes
 *   FAKE_GPU_HANG       the name of a function that never comes back
 *   FAKE_GPU_LOST       any value: every question to a device says that it has fallen off the bus
 *   FAKE_GPU_LOST_FILE  a file whose existence means the same
 *   FAKE_GPU_MIG        instances per device (0: MIG is off)
 *   FAKE_GPU_MIG_LEGACY any value: instances are named as before driver 470, by their board
 *   FAKE_GPU_LONG       any value: processes in the longer structure of drivers 525 to 530
 *   FAKE_GPU_PROCESSES  processes on each device (2 when absent); ten more each time that a list was too short
 *   FAKE_GPU_MPS        any value: one more process, a client of MPS
 *   FAKE_GPU_FORBIDDEN  numbers of devices that belong to others, such as ",0,2,": no permission
 *   FAKE_GPU_UNIFIED    any value: a GPU in the machine's own memory, which NVML does not count; "zero": as 0 bytes
 *   FAKE_GPU_NARROW     any value: counters of PCIe have 32 bits
 *   FAKE_GPU_CALLS_FILE a file that gets a line "pid function" for each call
 *   FAKE_GPU_LOOP_FILE  a file that gets a line "pid function" for each call on a process's main thread
 *   FAKE_CUDA_INIT      status of cuInit
 *   FAKE_CUDA_REVERSED  any value: CUDA counts the devices from the other end (fastest first)
 */
#ifndef FAKE_SCENARIO_H
#define FAKE_SCENARIO_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int number_of(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text == NULL || *text == 0 ? otherwise : atoi(text);
}

static int is_set(const char *name) {
  const char *text = getenv(name);
  return text != NULL && *text != 0;
}

/* Adds a call to the file that a variable names, if it is set. */
static void write_down(const char *name, const char *function) {
  FILE *file = is_set(name) ? fopen(getenv(name), "ae") : NULL;
  if (file == NULL) return;
  fprintf(file, "%d %s\n", (int)getpid(), function);
  fclose(file);
}

static long long now_nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* When the last call of this library ended; for loop-watch.c. */
__attribute__((visibility("default"))) atomic_llong fake_last_end;

/* The status that the scenario gives to a function; waits as the scenario says. */
static int status_of(const char *function) {
  write_down("FAKE_GPU_CALLS_FILE", function);
  if (syscall(SYS_gettid) == getpid()) write_down("FAKE_GPU_LOOP_FILE", function);
  const int delay_ms = number_of("FAKE_GPU_DELAY_MS", 0);
  if (delay_ms > 0) {
    const struct timespec time = {delay_ms / 1000, (delay_ms % 1000) * 1000000L};
    nanosleep(&time, NULL);
    fake_last_end = now_nanoseconds();
  }
  const char *hang = getenv("FAKE_GPU_HANG");
  if (hang != NULL && strcmp(hang, function) == 0) {
    for (;;) sleep(3600);
  }
  const char *fail = getenv("FAKE_GPU_FAIL");
  const size_t length = strlen(function);
  while (fail != NULL && *fail != 0) {
    if (strncmp(fail, function, length) == 0 && fail[length] == '=') return atoi(fail + length + 1);
    fail = strchr(fail, ',');
    if (fail != NULL) fail += 1;
  }
  return 0;
}

#endif
