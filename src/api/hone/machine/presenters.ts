import type { InferOutput } from 'valibot';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { hardware } from './schemas.ts';

export const presentHardware = ({ facts, profile }: Machine): InferOutput<typeof hardware> => ({
  profile,
  gpus: facts.gpus.map((gpu) => ({
    index: gpu.index,
    nvml_index: gpu.nvmlIndex,
    name: gpu.name,
    uuid: gpu.uuid,
    mig: gpu.mig,
    integrated: gpu.integrated,
    memory_total_bytes: gpu.totalBytes,
    memory_free_bytes: gpu.freeBytes,
    memory_used_bytes: gpu.usedBytes,
    compute_capability: gpu.computeCapability,
    lost: gpu.lost,
    processes: gpu.processes?.map(({ pid, usedBytes }) => ({ pid, memory_used_bytes: usedBytes })) ?? null,
  })),
  gpu_reason: facts.gpuReason,
  driver_version: facts.driverVersion,
  cuda_version: facts.cudaVersion,
  torch_version: facts.torchVersion,
  torch_cuda_version: facts.torchCudaVersion,
  memory_total_bytes: facts.ramTotalBytes,
  memory_available_bytes: facts.ramAvailableBytes,
  disk_free_bytes: facts.diskFreeBytes,
  cpu_model: facts.cpuModel,
  cpu_cores_logical: facts.cpuCoresLogical,
  cpu_cores_physical: facts.cpuCoresPhysical,
  cpu_quota_cores: facts.cpuQuotaCores,
});
