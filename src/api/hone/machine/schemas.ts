import * as v from 'valibot';
import { profiles } from '../../../contract/profiles.ts';

const known = v.nullable(v.number());
const said = v.nullable(v.string());
export const hardware = v.object({
  profile: v.picklist(profiles),
  gpus: v.array(
    v.object({
      /** PyTorch's `cuda:<index>`. */
      index: v.number(),
      /** The physical GPU's number in `nvidia-smi`. */
      nvml_index: known,
      name: v.string(),
      uuid: said,
      /** Whether it is a MIG instance. */
      mig: v.boolean(),
      /** Whether it shares the system memory. */
      integrated: v.nullable(v.boolean()),
      memory_total_bytes: known,
      memory_free_bytes: known,
      memory_used_bytes: known,
      compute_capability: said,
      /** Why the driver can no longer reach it, if so. */
      lost: said,
      processes: v.nullable(v.array(v.object({ pid: v.number(), memory_used_bytes: known }))),
    }),
  ),
  /** Why training cannot use a GPU, or why a figure of one is missing. */
  gpu_reason: said,
  driver_version: said,
  cuda_version: said,
  torch_version: said,
  /** The CUDA version that PyTorch was built for; `null` for a CPU build. */
  torch_cuda_version: said,
  memory_total_bytes: v.number(),
  memory_available_bytes: v.number(),
  disk_free_bytes: known,
  cpu_model: said,
  cpu_cores_logical: v.number(),
  cpu_cores_physical: known,
  /** The container's CPU limit in cores. */
  cpu_quota_cores: known,
});
