#include "inventory.h"

#include <algorithm>
#include <cctype>

namespace hone {

namespace {

/// The part of a UUID that NVML (`GPU-…`, `MIG-…`) and CUDA (no prefix) have in common, in lower case.
/// Drivers before 470 name an instance `MIG-GPU-…/1/0`, and CUDA then reports the UUID of its board.
std::string Key(const std::string& uuid) {
  std::string key = uuid.substr(0, uuid.find('/'));
  for (const char* prefix : {"MIG-", "GPU-"}) {
    if (key.compare(0, 4, prefix) == 0) key.erase(0, 4);
  }
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return key;
}

Gpu Describe(const Nvml& nvml, Nvml::Device handle, int index) {
  Gpu gpu;
  gpu.handle = handle;
  gpu.nvml_index = index;
  gpu.name = nvml.Name(handle).value_or("");
  gpu.uuid = nvml.Uuid(handle).value_or("");
  gpu.compute_capability = nvml.ComputeCapability(handle);
  const Nvml::MemoryAnswer answer = nvml.MemoryOf(handle);
  if (answer.memory) gpu.total_bytes = answer.memory->total;
  gpu.lost = answer.lost;
  return gpu;
}

/// The entry of `known` for the CUDA device `device`; the end iterator if there is none or the UUID is
/// ambiguous.
std::vector<Gpu>::const_iterator Find(const std::vector<Gpu>& known, const CudaDevice& device) {
  const auto is_it = [&device](const Gpu& gpu) { return Key(gpu.uuid) == Key(device.uuid); };
  const auto found = std::find_if(known.begin(), known.end(), is_it);
  if (found == known.end() || std::find_if(found + 1, known.end(), is_it) != known.end()) return known.end();
  return found;
}

/// The devices that NVML lists: physical devices, or the MIG instances in place of a partitioned one.
std::vector<Gpu> ReadKnown(Inventory& inventory) {
  std::vector<Gpu> known;
  const Nvml& nvml = *inventory.nvml;
  const std::vector<Nvml::Slot> slots = nvml.Devices(inventory.nvml_failure);
  inventory.installed = slots.size();
  for (size_t i = 0; i < slots.size(); ++i) {
    const Nvml::Slot& slot = slots[i];
    const int index = static_cast<int>(i);
    if (slot.device == nullptr) {
      if (slot.is_forbidden) continue;
      inventory.nvml_failure = slot.failure;
      Gpu gpu;
      gpu.nvml_index = index;
      gpu.lost = slot.failure.message;
      known.push_back(std::move(gpu));
      continue;
    }
    if (!nvml.MigEnabled(slot.device).value_or(false)) {
      known.push_back(Describe(nvml, slot.device, index));
      continue;
    }
    // With MIG enabled, only the instances can compute. They do not report a compute capability.
    for (Nvml::Device instance : nvml.MigInstances(slot.device)) {
      Gpu gpu = Describe(nvml, instance, index);
      gpu.is_mig = true;
      gpu.board = slot.device;
      if (!gpu.compute_capability) gpu.compute_capability = nvml.ComputeCapability(slot.device);
      known.push_back(std::move(gpu));
    }
  }
  if (known.empty() && !slots.empty() && slots.front().is_forbidden) {
    inventory.nvml_failure = slots.front().failure;
  }
  return known;
}

}  // namespace

Inventory ReadInventory() {
  Inventory inventory;
  std::vector<Gpu> known;
  inventory.nvml = Nvml::Open(inventory.nvml_failure);
  if (inventory.nvml != nullptr) known = ReadKnown(inventory);

  inventory.cuda = ReadCuda();
  inventory.cuda_usable = !inventory.cuda.failure && !inventory.cuda.devices.empty();
  if (!inventory.cuda_usable) {
    // Hidden by CUDA_VISIBLE_DEVICES is not an error; training then sees no GPU.
    if (inventory.cuda.failure.code != "cuda_no_device") inventory.gpus = std::move(known);
    return inventory;
  }
  for (const CudaDevice& device : inventory.cuda.devices) {
    const auto match = Find(known, device);
    Gpu gpu;
    if (match != known.end()) gpu = *match;
    if (gpu.name.empty()) gpu.name = device.name;
    if (gpu.uuid.empty()) gpu.uuid = "GPU-" + device.uuid;
    if (!gpu.total_bytes && device.total_bytes > 0) gpu.total_bytes = device.total_bytes;
    if (!gpu.compute_capability && device.major > 0) gpu.compute_capability = {device.major, device.minor};
    gpu.is_integrated = device.is_integrated;
    inventory.gpus.push_back(std::move(gpu));
  }
  return inventory;
}

}  // namespace hone
