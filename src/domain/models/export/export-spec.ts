import { isAbsolute, join } from 'node:path';
import { protocolVersion } from '../../../contract/journal.ts';
import type { Quantization } from '../../../contract/models/quantizations.ts';
import type { Settings } from '../../../contract/settings.ts';
import type { JobRow } from '../../../db/tables/jobs.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import { locateModel } from '../../base-models/base-model.ts';
import { jobName } from '../../job-record/job.ts';
import { exportNeed } from '../../training/estimate/disk-need.ts';
import { mergedBase, settingsIn } from '../merged-base.ts';
import type { Model } from '../models.ts';

/**
 * The specification for an export of a kept model: that of its job, or what the model tells of it if the job was deleted.
 * The dataset may be gone.
 * @param folder a folder of its own.
 */
export async function exportSpec(
  model: Model,
  job: JobRow | null,
  types: readonly Quantization[],
  { folder, tools }: { readonly folder: string; readonly tools: JobSpec['tools'] },
): Promise<JobSpec> {
  const { model: base, dataset, settings } = (job?.spec ?? {}) as Partial<JobSpec>;
  const { baseModel, task, provider, strategy } = model;
  return {
    protocol: protocolVersion,
    job_id: job === null ? model.name : jobName(job.id),
    job_dir: folder,
    task,
    provider,
    strategy,
    model:
      base ??
      (await mergedBase(baseModel, model.config)) ??
      (isAbsolute(baseModel) ? locateModel(baseModel) : { name: baseModel, path: null }),
    dataset: dataset ?? {
      name: model.datasetName,
      path: join(folder, 'dataset.jsonl'),
      rows: 0,
      shape: 'input-output',
    },
    validation: null,
    settings: settings ?? (settingsIn(model.config) as unknown as Settings),
    export: { quantizations: types, required: true },
    tensorboard_dir: null,
    tools,
    disk: { checkpoints_bytes: 0, checkpoints_per_trained_weight: 0, ...exportNeedOf(types) },
  };
}

function exportNeedOf(types: readonly Quantization[]) {
  const { exportPerWeight, exportPerTrainedWeight, spareBytes } = exportNeed(types);
  return {
    export_per_weight: exportPerWeight,
    export_per_trained_weight: exportPerTrainedWeight,
    spare_bytes: spareBytes,
  };
}
