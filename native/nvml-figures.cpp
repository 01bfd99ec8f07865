#include "nvml-abi.h"
#include "nvml.h"

namespace hone {

using namespace nvml_abi;

namespace {

/// The counter's value in bytes; empty for a 32-bit counter, which wraps several times between two samples on
/// a fast link.
std::optional<double> Counted(const FieldValue& field) {
  if (field.status != kSuccess) return std::nullopt;
  if (field.type == kUnsignedLongLong) return static_cast<double>(field.value.u64);
  if (field.type == kSignedLongLong && field.value.s64 >= 0) return static_cast<double>(field.value.s64);
  if (field.type == kUnsignedLong && sizeof(unsigned long) == 8)
    return static_cast<double>(field.value.ulong);
  return std::nullopt;
}

}  // namespace

std::optional<Nvml::Utilization> Nvml::UtilizationOf(Device device) const {
  const auto rates = Ask<UtilizationRates>("nvmlDeviceGetUtilizationRates", device);
  if (!rates) return std::nullopt;
  return Utilization{rates->gpu, rates->memory};
}

std::optional<double> Nvml::TemperatureCelsius(Device device) const {
  if (const auto newest = library_.Symbol<int (*)(Device, TemperatureV1*)>({"nvmlDeviceGetTemperatureV"})) {
    TemperatureV1 temperature{Versioned<TemperatureV1>(1), kSensorGpu, 0};
    if (newest(device, &temperature) == kSuccess) return temperature.celsius;
  }
  const auto celsius = Ask<unsigned>("nvmlDeviceGetTemperature", device, kSensorGpu);
  if (!celsius) return std::nullopt;
  return *celsius;
}

std::optional<double> Nvml::PowerWatts(Device device) const {
  const auto milliwatts = Ask<unsigned>("nvmlDeviceGetPowerUsage", device);
  if (!milliwatts) return std::nullopt;
  return *milliwatts / 1000.0;
}

std::optional<double> Nvml::EnergyJoules(Device device) const {
  const auto millijoules = Ask<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", device);
  if (!millijoules) return std::nullopt;
  return static_cast<double>(*millijoules) / 1000.0;
}

std::optional<unsigned> Nvml::SmClockMHz(Device device) const {
  return Ask<unsigned>("nvmlDeviceGetClockInfo", device, kClockSm);
}

std::optional<unsigned> Nvml::MemoryClockMHz(Device device) const {
  return Ask<unsigned>("nvmlDeviceGetClockInfo", device, kClockMemory);
}

std::optional<uint64_t> Nvml::ThrottleReasons(Device device) const {
  auto bits = Ask<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", device);
  if (!bits) bits = Ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device);
  if (!bits) return std::nullopt;
  return *bits;
}

Nvml::Pcie Nvml::PcieCounters(Device device) const {
  const auto function = library_.Symbol<int (*)(Device, int, FieldValue*)>({"nvmlDeviceGetFieldValues"});
  FieldValue fields[2] = {};
  fields[0].field = kFieldPcieTransmittedBytes;
  fields[1].field = kFieldPcieReceivedBytes;
  // Unsupported drivers leave the field unchanged.
  fields[0].status = fields[1].status = kNotSupported;
  if (function == nullptr || function(device, 2, fields) != kSuccess) return {};
  return {Counted(fields[0]), Counted(fields[1])};
}

std::optional<double> Nvml::PcieThroughput(Device device, bool receive) const {
  const auto kilobytes =
      Ask<unsigned>("nvmlDeviceGetPcieThroughput", device, receive ? kPcieReceived : kPcieTransmitted);
  if (!kilobytes) return std::nullopt;
  return *kilobytes * 1024.0;
}

}  // namespace hone
