/* A libnvidia-ml.so.1 for machines without a GPU; see scenario.h. With -DOLD it lacks the newer versions. */
#include "scenario.h"

#define EXPORT __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
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
  snprintf(text, length, "%s-00000000-0000-0000-000%d-00000000000%d", device->instance > 0 ? "MIG" : "GPU",
           device->instance, device->index);
  return 0;
}
EXPORT int nvmlDeviceGetMemoryInfo(struct device *device, unsigned long long *memory) {
  ANSWER(nvmlDeviceGetMemoryInfo);
  memory[0] = total_of(device);
  memory[1] = total_of(device) - 3 * GIB;
  memory[2] = 3 * GIB; /* the driver's own part counts as used in this version */
  return 0;
}
EXPORT int nvmlDeviceGetCudaComputeCapability(struct device *device, int *major, int *minor) {
  ANSWER(nvmlDeviceGetCudaComputeCapability);
  if (device->instance > 0) return NOT_SUPPORTED;
  *major = 9;
  *minor = 0;
  return 0;
}

static int write_processes(unsigned *count, void *list, size_t stride, int is_long) {
  const unsigned long long bytes[2] = {2 * GIB, ~0ULL};
  if (*count < 2) {
    *count = 2;
    return INSUFFICIENT_SIZE;
  }
  *count = 2;
  for (int i = 0; i < 2; ++i) {
    unsigned char *entry = (unsigned char *)list + (size_t)i * (is_long ? 32 : stride);
    const unsigned pid = 1000U + (unsigned)i;
    memset(entry, 0, is_long ? 32 : stride);
    memcpy(entry, &pid, sizeof(pid));
    memcpy(entry + 8, &bytes[i], sizeof(bytes[i]));
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
  ANSWER(nvmlDeviceGetUtilizationRates);
  if (device->instance > 0) return NOT_SUPPORTED;
  rates[0] = 87;
  rates[1] = 41;
  return 0;
}
EXPORT int nvmlDeviceGetTemperature(struct device *device, int sensor, unsigned *celsius) {
  ANSWER(nvmlDeviceGetTemperature);
  (void)device;
  *celsius = 63;
  return sensor == 0 ? 0 : INVALID_ARGUMENT;
}
EXPORT int nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts) {
  ANSWER(nvmlDeviceGetPowerUsage);
  (void)device;
  *milliwatts = 250500;
  return 0;
}
EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct device *device, unsigned long long *millijoules) {
  static unsigned long long total = 1000000;
  ANSWER(nvmlDeviceGetTotalEnergyConsumption);
  (void)device;
  *millijoules = total += 50000;
  return 0;
}
EXPORT int nvmlDeviceGetClockInfo(struct device *device, int kind, unsigned *mhz) {
  ANSWER(nvmlDeviceGetClockInfo);
  (void)device;
  *mhz = kind == 1 ? 1980 : 2619;
  return 0;
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, unsigned long long *bits) {
  ANSWER(nvmlDeviceGetCurrentClocksEventReasons);
  (void)device;
  *bits = 0x4 | 0x20;
  return 0;
}
EXPORT int nvmlDeviceGetPcieThroughput(struct device *device, int counter, unsigned *kilobytes) {
  ANSWER(nvmlDeviceGetPcieThroughput);
  (void)device;
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
  ANSWER(nvmlDeviceGetFieldValues);
  (void)device;
  transferred += 1000000;
  for (int i = 0; i < count; ++i) {
    const int known = fields[i].id == 197 || fields[i].id == 198;
    fields[i].status = known ? 0 : NOT_SUPPORTED;
    fields[i].type = 3;
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
