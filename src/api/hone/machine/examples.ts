/** An answer of each route, for the OpenAPI document. */
export const examples: Readonly<Record<string, unknown>> = {
  'GET /api/hardware': {
    profile: 'low_end',
    gpus: [
      {
        index: 0,
        nvml_index: 0,
        name: 'NVIDIA GeForce RTX 3050',
        uuid: 'GPU-6f2b1c9e-0d7a-4b53-9f7e-2a8c4d1e5b60',
        mig: false,
        integrated: false,
        memory_total_bytes: 6_442_450_944,
        memory_free_bytes: 6_012_954_214,
        memory_used_bytes: 429_496_730,
        compute_capability: '8.6',
        lost: null,
        processes: [{ pid: 4312, memory_used_bytes: 398_458_880 }],
      },
    ],
    gpu_reason: null,
    driver_version: '580.65.06',
    cuda_version: '13.0',
    torch_version: '2.14.1',
    torch_cuda_version: '13.0',
    memory_total_bytes: 16_694_345_728,
    memory_available_bytes: 11_274_289_152,
    disk_free_bytes: 228_065_280_000,
    cpu_model: 'AMD Ryzen 5 5600X 6-Core Processor',
    cpu_cores_logical: 12,
    cpu_cores_physical: 6,
    cpu_quota_cores: null,
  },
};
