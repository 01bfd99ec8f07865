import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { protocolVersion } from '../../contract/journal.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { freezeRows } from '../datasets/datasets.ts';
import { exportTypes, type JudgedRequest } from './judge-request.ts';

/** Recreates a job's folder with its own copy of the rows and its specification. */
export async function writeSpec(
  judged: JudgedRequest,
  job: {
    readonly name: string;
    readonly folder: string;
    readonly logsDir: string | null;
    readonly tools: JobSpec['tools'];
  },
): Promise<JobSpec> {
  const { request, data, disk } = judged;
  await rm(job.folder, { recursive: true, force: true });
  await mkdir(job.folder, { recursive: true });
  const rowsPath = join(job.folder, 'dataset.jsonl');
  await freezeRows(data, rowsPath);
  const spec: JobSpec = {
    protocol: protocolVersion,
    job_id: job.name,
    job_dir: job.folder,
    task: request.task,
    provider: judged.provider,
    strategy: judged.strategy,
    model: judged.base,
    dataset: { name: data.name, path: rowsPath, rows: data.numExamples, shape: data.shape },
    settings: judged.settings,
    // If no GGUF was requested, the trainer decides whether one can be made, and reports it.
    export:
      request.export === 'none'
        ? null
        : { quantizations: exportTypes(request, null), required: request.export != null },
    tensorboard_dir: job.logsDir === null ? null : join(job.logsDir, job.name),
    tools: job.tools,
    disk: {
      checkpoints_bytes: disk.checkpointsBytes,
      checkpoints_per_trained_weight: disk.checkpointsPerTrainedWeight,
      export_per_weight: disk.exportPerWeight,
      export_per_trained_weight: disk.exportPerTrainedWeight,
      spare_bytes: disk.spareBytes,
    },
  };
  await writeFile(join(job.folder, 'spec.json'), `${JSON.stringify(spec, null, 2)}\n`);
  return spec;
}
