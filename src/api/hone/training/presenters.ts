import type { Plan, RecommendedModel } from '../../../domain/training/estimate/planner.ts';

export function presentPlan(plan: Plan) {
  const { fine, available } = plan;
  return {
    parameters: plan.parameters,
    precision: plan.precision,
    simple_gb: plan.simpleGb,
    memory: fine && {
      weights_bytes: fine.weightsBytes,
      adapter_bytes: fine.adapterBytes,
      optimizer_bytes: fine.optimizerBytes,
      activations_bytes: fine.activationsBytes,
      logits_bytes: fine.logitsBytes,
      runtime_bytes: fine.runtimeBytes,
      total_bytes: fine.totalBytes,
    },
    disk: fine && {
      download_bytes: fine.disk.downloadBytes,
      checkpoints_bytes: fine.disk.checkpointsBytes,
      export_bytes: fine.disk.exportBytes,
      teacher_bytes: fine.disk.teacherBytes,
      spare_bytes: fine.disk.spareBytes,
      total_bytes: fine.disk.totalBytes,
    },
    steps: plan.steps && {
      total: plan.steps.total,
      at_least: plan.steps.isLeast,
      held_out_rows: plan.steps.heldOutRows,
    },
    time: plan.time && {
      total_seconds: Math.round(plan.time.totalSeconds * 10) / 10,
      train_seconds: Math.round(plan.time.trainSeconds * 10) / 10,
      prepare_seconds: Math.round(plan.time.prepareSeconds * 10) / 10,
      export_seconds: Math.round(plan.time.exportSeconds * 10) / 10,
      basis: plan.time.basis,
      rough: plan.time.isRough,
    },
    available: {
      memory_bytes: available.memoryBytes,
      memory_of: available.memoryOf,
      disk_bytes: available.diskBytes,
      other_runs: available.reserved.map(({ name, memoryBytes, diskBytes }) => ({
        job_id: name,
        memory_bytes: Math.round(memoryBytes),
        disk_bytes: Math.round(diskBytes),
      })),
    },
    fits: plan.fits,
    advice: plan.advice,
    request: plan.request,
  };
}

export function presentRecommended(recommended: RecommendedModel) {
  const { model, why, billionParameters, licence, memoryBytes } = recommended;
  return { model, why, parameters_billion: billionParameters, licence, memory_bytes: memoryBytes };
}
