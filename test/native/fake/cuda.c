/*
 * A libcuda.so.1 for machines without a GPU; see scenario.h. As the real one it respects CUDA_VISIBLE_DEVICES
 * (numbers, or beginnings of UUIDs; the first bad one ends the list) and shows one MIG instance alone. With -DOLD
 * it lacks _v2.
 */
#include "scenario.h"

#define EXPORT __attribute__((visibility("default")))
#define NO_DEVICE 100

static int order[64];
static int visible = 0;

/* The device that an entry of the list names, or -1; `end` is behind it. */
static long named(const char *entry, int count, char **end) {
  const size_t length = strcspn(entry, ",");
  if (strncmp(entry, "GPU-", 4) != 0 && strncmp(entry, "MIG-", 4) != 0) return strtol(entry, end, 10);
  *end = (char *)entry + length;
  for (int i = 0; i < count; ++i) {
    char uuid[64];
    snprintf(uuid, sizeof(uuid), "%.3s-00000000-0000-0000-000%d-00000000000%d", entry, entry[0] == 'M', i);
    if (strncmp(entry, uuid, length) == 0) return i;
  }
  return -1;
}

static void look(void) {
  const int count = number_of("FAKE_GPU_COUNT", 1);
  const char *list = getenv("CUDA_VISIBLE_DEVICES");
  visible = 0;
  for (int i = 0; list == NULL && i < count; ++i) order[visible++] = i;
  while (list != NULL && *list != 0 && visible < 64) {
    char *end = NULL;
    const long number = named(list, count, &end);
    if (end == list || number < 0 || number >= count) break;
    order[visible++] = (int)number;
    list = *end == ',' ? end + 1 : end;
  }
  for (int i = 0; is_set("FAKE_CUDA_REVERSED") && i < visible; ++i) order[i] = count - 1 - order[i];
  if (number_of("FAKE_GPU_MIG", 0) > 0 && visible > 1) visible = 1;
}

EXPORT int cuInit(unsigned flags) {
  (void)flags;
  const int status = status_of("cuInit");
  if (status != 0) return status;
  if (is_set("FAKE_CUDA_INIT")) return number_of("FAKE_CUDA_INIT", 0);
  look();
  return visible == 0 ? NO_DEVICE : 0;
}
EXPORT int cuDriverGetVersion(int *version) {
  *version = 12040;
  return status_of("cuDriverGetVersion");
}
EXPORT int cuDeviceGetCount(int *count) {
  *count = visible;
  return status_of("cuDeviceGetCount");
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return status_of("cuDeviceGet");
}
EXPORT int cuDeviceGetName(char *text, int length, int device) {
  snprintf(text, (size_t)length, "NVIDIA Fake %d", order[device]);
  return status_of("cuDeviceGetName");
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = ((size_t)16 << 30) * (size_t)(order[device] + 1);
  return status_of("cuDeviceTotalMem_v2");
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 9 : attribute == 18 ? is_set("FAKE_GPU_UNIFIED") : 0;
  return status_of("cuDeviceGetAttribute");
}
static int uuid_of(unsigned char *uuid, int device, int instance) {
  memset(uuid, 0, 16);
  uuid[9] = (unsigned char)instance;
  uuid[15] = (unsigned char)order[device];
  return 0;
}
EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device) { return uuid_of(uuid, device, 0); }
#ifndef OLD
EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  return uuid_of(uuid, device, number_of("FAKE_GPU_MIG", 0) > 0 && !is_set("FAKE_GPU_MIG_LEGACY"));
}
#endif
EXPORT int cuGetErrorString(int status, const char **text) {
  *text = status == NO_DEVICE ? "no CUDA-capable device is detected" : "some CUDA error";
  return 0;
}
