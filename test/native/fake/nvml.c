/* A libnvidia-ml.so.1 for machines without a GPU; see scenario.h. With -DOLD it lacks the newer versions. */
#include "scenario.h"

#define EXPORT __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
#define NO_PERMISSION 4
#define INVALID_ARGUMENT 2
#define INSUFFICIENT_SIZE 7
#define GPU_IS_LOST 15
#define MAX_DEVICES 8
#define MAX_INSTANCES 7
#define GIB (1024ULL * 1024 * 1024)

/* A device's number, and for a MIG instance the instance's number from 1. */
struct device {
  int index, instance;
};
static struct device devices[MAX_DEVICES][MAX_INSTANCES + 1];

static int device_status(const char *function) {
  const int status = status_of(function);
  if (status != 0) return status;
  const char *file = getenv("FAKE_GPU_LOST_FILE");
  if (is_set("FAKE_GPU_LOST") || (file != NULL && access(file, F_OK) == 0)) return GPU_IS_LOST;
  return 0;
}

#define ANSWER(function)                         \
  do {                                           \
    const int status = device_status(#function); \
    if (status != 0) return status;              \
  } while (0)

/* As ANSWER, of a question that only a physical device answers. */
#define ANSWER_OF_BOARD(function)                      \
  do {                                                 \
    ANSWER(function);                                  \
    if (device->instance > 0) return NOT_SUPPORTED;    \
  } while (0)

static int init(void) {
  const int status = status_of("nvmlInit_v2");
  return status != 0 ? status : number_of("FAKE_GPU_INIT", 0);
}
static int get_count(unsigned *count) {
  *count = (unsigned)number_of("FAKE_GPU_COUNT", 1);
  return status_of("nvmlDeviceGetCount_v2");
}
static int get_handle(unsigned index, struct device **device) {
  if ((int)index >= number_of("FAKE_GPU_COUNT", 1)) return INVALID_ARGUMENT;
  char name[16];
  snprintf(name, sizeof(name), ",%u,", index);
  const char *forbidden = getenv("FAKE_GPU_FORBIDDEN");
  if (forbidden != NULL && strstr(forbidden, name) != NULL) return NO_PERMISSION;
  devices[index][0].index = (int)index;
  *device = &devices[index][0];
  return status_of("nvmlDeviceGetHandleByIndex_v2");
}
static unsigned long long total_of(const struct device *device) {
  return device->instance > 0 ? 5 * GIB : 16 * GIB * (unsigned long long)(device->index + 1);
}

EXPORT int nvmlInit(void) { return init(); }
EXPORT int nvmlShutdown(void) { return status_of("nvmlShutdown"); }
EXPORT const char *nvmlErrorString(int status) {
  switch (status) {
    case 9:
      return "Driver Not Loaded";
    case GPU_IS_LOST:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Some error";
  }
}
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  snprintf(text, length, "550.54.15");
  return status_of("nvmlSystemGetDriverVersion");
}
EXPORT int nvmlSystemGetCudaDriverVersion(int *version) {
  *version = 12040;
  return status_of("nvmlSystemGetCudaDriverVersion");
}
EXPORT int nvmlDeviceGetCount(unsigned *count) { return get_count(count); }
EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, struct device **device) { return get_handle(index, device); }

EXPORT int nvmlDeviceGetName(struct device *device, char *text, unsigned length) {
  ANSWER(nvmlDeviceGetName);
  snprintf(text, length, device->instance > 0 ? "NVIDIA Fake %d MIG 1g.5gb" : "NVIDIA Fake %d", device->index);
  return 0;
}
EXPORT int nvmlDeviceGetUUID(struct device *device, char *text, unsigned length) {
  ANSWER(nvmlDeviceGetUUID);
  if (device->instance > 0 && is_set("FAKE_GPU_MIG_LEGACY")) {
    snprintf(text, length, "MIG-GPU-00000000-0000-0000-0000-00000000000%d/%d/0", device->index, device->instance);
    return 0;
  }
  snprintf(text, length, "%s-00000000-0000-0000-000%d-00000000000%d", device->instance > 0 ? "MIG" : "GPU",
           device->instance, device->index);
  return 0;
}
static int is_unified(unsigned long long *memory, int numbers) {
  if (!is_set("FAKE_GPU_UNIFIED")) return 0;
  memset(memory, 0, (size_t)numbers * sizeof(*memory));
  return 1;
}
static int unified_status(void) { return strcmp(getenv("FAKE_GPU_UNIFIED"), "zero") == 0 ? 0 : NOT_SUPPORTED; }
EXPORT int nvmlDeviceGetMemoryInfo(struct device *device, unsigned long long *memory) {
  ANSWER(nvmlDeviceGetMemoryInfo);
  if (is_unified(memory, 3)) return unified_status();
  memory[0] = total_of(device);
  memory[1] = total_of(device) - 3 * GIB;
  memory[2] = 3 * GIB; /* the driver's own part counts as used in this version */
  return 0;
}
EXPORT int nvmlDeviceGetCudaComputeCapability(struct device *device, int *major, int *minor) {
  ANSWER_OF_BOARD(nvmlDeviceGetCudaComputeCapability);
  *major = 9;
  *minor = 0;
  return 0;
}

static int write_processes(unsigned *count, void *list, size_t stride, int is_long) {
  static unsigned more = 0;
  const unsigned all = (unsigned)number_of("FAKE_GPU_PROCESSES", 2) + more;
  const size_t size = is_long ? 32 : stride;
  if (*count < all) {
    *count = all;
    more += 10; /* by the next call */
    return INSUFFICIENT_SIZE;
  }
  more = 0;
  *count = all;
  for (unsigned i = 0; i < all; ++i) {
    const unsigned pid = 1000U + i;
    const unsigned long long bytes = i == 1 ? ~0ULL : 2 * GIB;
    unsigned char *entry = (unsigned char *)list + i * size;
    memset(entry, 0, size);
    memcpy(entry, &pid, sizeof(pid));
    memcpy(entry + 8, &bytes, sizeof(bytes));
  }
  return 0;
}
static int no_processes(unsigned *count) {
  *count = 0;
  return 0;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses(struct device *device, unsigned *count, void *list) {
  ANSWER(nvmlDeviceGetComputeRunningProcesses_v3);
  (void)device;
  return write_processes(count, list, 16, 0);
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses(struct device *device, unsigned *count, void *list) {
  ANSWER(nvmlDeviceGetGraphicsRunningProcesses_v3);
  (void)device;
  (void)list;
  return no_processes(count);
}

EXPORT int nvmlDeviceGetUtilizationRates(struct device *device, unsigned *rates) {
  ANSWER_OF_BOARD(nvmlDeviceGetUtilizationRates);
  rates[0] = 87;
  rates[1] = 41;
  return 0;
}
EXPORT int nvmlDeviceGetTemperature(struct device *device, int sensor, unsigned *celsius) {
  ANSWER_OF_BOARD(nvmlDeviceGetTemperatureV);
  *celsius = 63;
  return sensor == 0 ? 0 : INVALID_ARGUMENT;
}
EXPORT int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts) {
  ANSWER_OF_BOARD(nvmlDeviceGetPowerUsage);
  *milliwatts = 250500;
  return 0;
}
EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct device *device, unsigned long long *millijoules) {
  static unsigned long long total = 1000000;
  ANSWER_OF_BOARD(nvmlDeviceGetTotalEnergyConsumption);
  *millijoules = total += 50000;
  return 0;
}
EXPORT int nvmlDeviceGetClockInfo(struct device *device, int kind, unsigned *mhz) {
  ANSWER_OF_BOARD(nvmlDeviceGetClockInfo);
  *mhz = kind == 1 ? 1980 : 2619;
  return 0;
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, unsigned long long *bits) {
  ANSWER_OF_BOARD(nvmlDeviceGetCurrentClocksEventReasons);
  *bits = 0x4 | 0x20;
  return 0;
}
EXPORT int nvmlDeviceGetPcieThroughput(struct device *device, int counter, unsigned *kilobytes) {
  ANSWER_OF_BOARD(nvmlDeviceGetPcieThroughput);
  *kilobytes = counter == 0 ? 100 : 200;
  return 0;
}

#ifndef OLD

EXPORT int nvmlInit_v2(void) { return init(); }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }
EXPORT int nvmlDeviceGetCount_v2(unsigned *count) { return get_count(count); }
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) {
  return get_handle(index, device);
}

struct memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
EXPORT int nvmlDeviceGetMemoryInfo_v2(struct device *device, struct memory_v2 *memory) {
  ANSWER(nvmlDeviceGetMemoryInfo_v2);
  if (memory->version != (sizeof(*memory) | (2U << 24))) return INVALID_ARGUMENT;
  if (is_unified(&memory->total, 4)) return unified_status();
  memory->total = total_of(device);
  memory->reserved = GIB;
  memory->free = total_of(device) - 3 * GIB;
  memory->used = 2 * GIB;
  return 0;
}
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *count, void *list) {
  ANSWER(nvmlDeviceGetComputeRunningProcesses_v3);
  (void)device;
  return write_processes(count, list, 24, is_set("FAKE_GPU_LONG"));
}
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(struct device *device, unsigned *count, void *list) {
  ANSWER(nvmlDeviceGetGraphicsRunningProcesses_v3);
  (void)device;
  (void)list;
  return no_processes(count);
}
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct device *device, unsigned *count, void *list) {
  ANSWER(nvmlDeviceGetMPSComputeRunningProcesses_v3);
  (void)device;
  if (!is_set("FAKE_GPU_MPS")) return no_processes(count);
  const unsigned long long entry[3] = {2000, GIB, 0};
  memcpy(list, entry, sizeof(entry));
  *count = 1;
  return 0;
}
struct temperature {
  unsigned version;
  int sensor, celsius;
};
EXPORT int nvmlDeviceGetTemperatureV(struct device *device, struct temperature *temperature) {
  if (temperature->version != (sizeof(*temperature) | (1U << 24))) return 25; /* argument version mismatch */
  return nvmlDeviceGetTemperature(device, temperature->sensor, (unsigned *)&temperature->celsius);
}
EXPORT int nvmlDeviceGetCurrentClocksEventReasons(struct device *device, unsigned long long *bits) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(device, bits);
}

struct field {
  unsigned id, scope;
  long long timestamp, latency;
  unsigned type;
  int status;
  unsigned long long value;
};
EXPORT int nvmlDeviceGetFieldValues(struct device *device, int count, struct field *fields) {
  static unsigned long long transferred = 0;
  ANSWER_OF_BOARD(nvmlDeviceGetFieldValues);
  transferred += 1000000;
  for (int i = 0; i < count; ++i) {
    const int known = fields[i].id == 197 || fields[i].id == 198;
    fields[i].status = known ? 0 : NOT_SUPPORTED;
    fields[i].type = is_set("FAKE_GPU_NARROW") ? 1 : 3;
    fields[i].value = transferred * (fields[i].id == 198 ? 2 : 1);
  }
  return 0;
}

EXPORT int nvmlDeviceGetMigMode(struct device *device, unsigned *current, unsigned *pending) {
  ANSWER(nvmlDeviceGetMigMode);
  (void)device;
  *current = *pending = number_of("FAKE_GPU_MIG", 0) > 0;
  return 0;
}
EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct device *device, unsigned *count) {
  ANSWER(nvmlDeviceGetMaxMigDeviceCount);
  (void)device;
  *count = MAX_INSTANCES;
  return 0;
}
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct device *device, unsigned slot, struct device **instance) {
  ANSWER(nvmlDeviceGetMigDeviceHandleByIndex);
  if ((int)slot >= number_of("FAKE_GPU_MIG", 0)) return 6; /* an empty slot: not found */
  struct device *found = &devices[device->index][slot + 1];
  found->index = device->index;
  found->instance = (int)slot + 1;
  *instance = found;
  return 0;
}

#endif
