#include <algorithm>
#include <cstring>

#include "nvml-abi.h"
#include "nvml.h"

namespace hone {

using namespace nvml_abi;

std::optional<std::vector<Nvml::Process>> Nvml::Processes(Device device) const {
  std::vector<Process> all;
  bool any_answer = false;
  const auto add = [&all](unsigned pid, unsigned long long bytes) {
    const auto same = [pid](const Process& process) { return process.pid == pid; };
    if (std::any_of(all.begin(), all.end(), same)) return;  // listed twice
    all.push_back({pid, bytes == kValueNotAvailable ? std::nullopt : std::optional<uint64_t>(bytes)});
  };
  // Sized for the largest structure that drivers have used with these names. The position of untouched bytes
  // reveals which one was used.
  constexpr size_t kLongStructure = sizeof(ProcessWithProtectedMemory);
  constexpr unsigned char kUntouched = 0xA5;
  // MPS clients, which share a GPU between processes, are listed separately.
  for (const char* kind : {"Compute", "MPSCompute", "Graphics"}) {
    const std::string base = std::string("nvmlDeviceGet") + kind + "RunningProcesses";
    const auto newer =
        library_.Symbol<int (*)(Device, unsigned*, void*)>({(base + "_v3").c_str(), (base + "_v2").c_str()});
    const auto oldest = library_.Symbol<int (*)(Device, unsigned*, void*)>({base.c_str()});
    const auto function = newer != nullptr ? newer : oldest;
    if (function == nullptr) continue;
    unsigned capacity = 64;
    for (int attempt = 0; attempt < 4; ++attempt) {  // the list may grow between two calls
      std::vector<unsigned char> bytes(capacity * kLongStructure, kUntouched);
      unsigned count = capacity;
      const int status = function(device, &count, bytes.data());
      if (status == kInsufficientSize) {
        capacity = std::min(std::max(count, capacity) * 2, 65536U);
        continue;
      }
      if (status != kSuccess) break;
      any_answer = true;
      count = std::min(count, capacity);
      size_t stride = sizeof(ProcessV1);
      if (newer != nullptr) {
        const auto* behind = bytes.data() + count * sizeof(ProcessV2);
        const bool untouched =
            count * sizeof(ProcessV2) >= bytes.size() ||
            std::all_of(behind, behind + 8, [](unsigned char b) { return b == kUntouched; });
        stride = untouched ? sizeof(ProcessV2) : kLongStructure;
      }
      for (unsigned i = 0; i < count; ++i) {
        ProcessV1 entry{};
        std::memcpy(&entry, bytes.data() + i * stride, sizeof(entry));
        add(entry.pid, entry.bytes);
      }
      break;
    }
  }
  if (!any_answer) return std::nullopt;
  return all;
}

}  // namespace hone
