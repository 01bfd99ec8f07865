#pragma once

#include <cstdint>

/// Constants and structures of NVML's public ABI, as defined in its `nvml.h`. Releases only add to them. A
/// versioned structure begins with its size and version, `size | version << 24`.
namespace hone::nvml_abi {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kInsufficientSize = 7;
constexpr int kGpuIsLost = 15;
constexpr int kResetRequired = 16;
/// A value that the driver cannot report, such as a process's memory under WDDM on Windows.
constexpr uint64_t kValueNotAvailable = ~uint64_t{0};

template <typename Structure>
constexpr unsigned Versioned(unsigned version) {
  return static_cast<unsigned>(sizeof(Structure)) | (version << 24);
}

struct MemoryV1 {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(MemoryV1) == 24 && Versioned<MemoryV2>(2) == 0x02000028);

struct ProcessV1 {
  unsigned pid;
  unsigned long long bytes;
};
/// Used by both `_v2` and `_v3`.
struct ProcessV2 {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
/// Drivers 525 to 530 used this layout for `_v3`.
struct ProcessWithProtectedMemory {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
  unsigned long long protected_bytes;
};
static_assert(sizeof(ProcessV1) == 16 && sizeof(ProcessV2) == 24 && sizeof(ProcessWithProtectedMemory) == 32);

struct TemperatureV1 {
  unsigned version;
  int sensor;
  int celsius;
};
static_assert(Versioned<TemperatureV1>(1) == 0x0100000C);

struct UtilizationRates {
  unsigned gpu, memory;
};

constexpr int kSensorGpu = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kPcieTransmitted = 0;
constexpr int kPcieReceived = 1;
constexpr unsigned kFieldPcieTransmittedBytes = 197;
constexpr unsigned kFieldPcieReceivedBytes = 198;

enum ValueType { kDouble, kUnsignedInt, kUnsignedLong, kUnsignedLongLong, kSignedLongLong };
struct FieldValue {
  unsigned field, scope;
  long long timestamp_us, latency_us;
  unsigned type;  // a ValueType, or one added later
  int status;
  union {
    double real;
    unsigned u32;
    unsigned long ulong;
    unsigned long long u64;
    long long s64;
  } value;
};
static_assert(sizeof(FieldValue) == 40);

}  // namespace hone::nvml_abi
