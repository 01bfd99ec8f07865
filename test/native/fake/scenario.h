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
 *   FAKE_GPU_LONG       any value: processes in the longer structure of drivers 525 to 530
 *   FAKE_CUDA_INIT      status of cuInit
 *   FAKE_CUDA_REVERSED  any value: CUDA counts the devices from the other end (fastest first)
 */
#ifndef FAKE_SCENARIO_H
#define FAKE_SCENARIO_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The status that the scenario gives to a function; waits as the scenario says. */
static int status_of(const char *function) {
  const int delay_ms = number_of("FAKE_GPU_DELAY_MS", 0);
  if (delay_ms > 0) {
    const struct timespec time = {delay_ms / 1000, (delay_ms % 1000) * 1000000L};
    nanosleep(&time, NULL);
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
