#include "inventory.h"

#include <algorithm>
#include <cctype>

namespace hone {

namespace {

/// The part of a UUID that NVML (`GPU-…`, `MIG-…`) and CUDA (no prefix) share, in lower case.
std::string Key(const std::string& uuid) {
  std::string key = uuid;
  for (const char* prefix : {"GPU-", "MIG-"}) {
    if (key.compare(0, 4, prefix) == 0) key.erase(0, 4);
  }
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return key;
}

Gpu Describe(const Nvml& nvml, Nvml::Device handle, int index, bool is_mig) {
  Gpu gpu;
  gpu.handle = handle;
  gpu.nvml_index = index;
  gpu.is_mig = is_mig;
  if (handle == nullptr) {
    gpu.lost = "the driver cannot open it";
    return gpu;
  }
  gpu.name = nvml.Name(handle).value_or("");
  gpu.uuid = nvml.Uuid(handle).value_or("");
  gpu.compute_capability = nvml.ComputeCapability(handle);
  if (const auto memory = nvml.MemoryOf(handle)) gpu.total_bytes = memory->total;
  gpu.lost = nvml.LostBecause(handle);
  return gpu;
}

}  // namespace

Inventory ReadInventory() {
  Inventory inventory;
  std::vector<Gpu> known;
  inventory.nvml = Nvml::Open(inventory.nvml_failure);
  if (inventory.nvml != nullptr) {
    const std::vector<Nvml::Device> devices = inventory.nvml->Devices(inventory.nvml_failure);
    inventory.installed = devices.size();
    for (size_t i = 0; i < devices.size(); ++i) {
      const int index = static_cast<int>(i);
      const bool mig = devices[i] != nullptr && inventory.nvml->MigEnabled(devices[i]).value_or(false);
      if (!mig) known.push_back(Describe(*inventory.nvml, devices[i], index, false));
      // With MIG on, only its instances can compute. They have no compute capability of their own.
      for (Nvml::Device instance :
           mig ? inventory.nvml->MigInstances(devices[i]) : std::vector<Nvml::Device>{}) {
        Gpu gpu = Describe(*inventory.nvml, instance, index, true);
        if (!gpu.compute_capability) gpu.compute_capability = inventory.nvml->ComputeCapability(devices[i]);
        known.push_back(std::move(gpu));
      }
    }
  }

  inventory.cuda = ReadCuda();
  inventory.cuda_usable = !inventory.cuda.failure && !inventory.cuda.devices.empty();
  if (!inventory.cuda_usable) {
    // Hidden by CUDA_VISIBLE_DEVICES is no fault: then training sees none of them.
    if (inventory.cuda.failure.code != "cuda_no_device") inventory.gpus = std::move(known);
    return inventory;
  }
  for (const CudaDevice& device : inventory.cuda.devices) {
    const auto match = std::find_if(known.begin(), known.end(),
                                    [&device](const Gpu& gpu) { return Key(gpu.uuid) == Key(device.uuid); });
    Gpu gpu;
    if (match != known.end()) gpu = *match;
    if (gpu.name.empty()) gpu.name = device.name;
    if (gpu.uuid.empty()) gpu.uuid = "GPU-" + device.uuid;
    if (!gpu.total_bytes && device.total_bytes > 0) gpu.total_bytes = device.total_bytes;
    if (!gpu.compute_capability && device.major > 0) gpu.compute_capability = {device.major, device.minor};
    inventory.gpus.push_back(std::move(gpu));
  }
  return inventory;
}

}  // namespace hone
