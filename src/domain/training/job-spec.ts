import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { protocolVersion } from '../../contract/journal.ts';
import { usualProject } from '../../contract/training/trackers.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { freezeRows, type TrainingData } from '../datasets/training-data.ts';
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
  const { request, data, validation, disk } = judged;
  await rm(job.folder, { recursive: true, force: true });
  await mkdir(job.folder, { recursive: true });
  const freeze = async (rows: TrainingData, file: string) => {
    const path = join(job.folder, file);
    await freezeRows(rows, path);
    return { name: rows.name, path, rows: rows.numExamples, shape: rows.shape };
  };
  const spec: JobSpec = {
    protocol: protocolVersion,
    job_id: job.name,
    job_dir: job.folder,
    task: request.task,
    provider: judged.provider,
    strategy: judged.strategy,
    model: judged.base,
    dataset: await freeze(data, 'dataset.jsonl'),
    validation: validation === null ? null : await freeze(validation, 'validation.jsonl'),
    settings: judged.settings,
    // If no GGUF was requested, the trainer decides whether one can be made, and reports it.
    export:
      request.export === 'none'
        ? null
        : { quantizations: exportTypes(request, null), required: request.export != null },
    tensorboard_dir: job.logsDir === null ? null : join(job.logsDir, job.name),
    tracking: trackingOf(request),
    teacher: judged.teacher,
    tools: job.tools,
    disk: {
      checkpoints_bytes: disk.checkpointsBytes,
      checkpoints_per_trained_weight: disk.checkpointsPerTrainedWeight,
      export_per_weight: disk.exportPerWeight,
      export_per_trained_weight: disk.exportPerTrainedWeight,
      teacher_bytes: disk.teacherBytes,
      spare_bytes: disk.spareBytes,
    },
  };
  await writeFile(join(job.folder, 'spec.json'), `${JSON.stringify(spec, null, 2)}\n`);
  return spec;
}

/** Each tracker once; `null` without any. */
function trackingOf({
  report_to,
  project,
}: JudgedRequest['request']): Exclude<JobSpec['tracking'], undefined> {
  const names = [...new Set(report_to)];
  return names.length === 0 ? null : { report_to: names, project: project ?? usualProject };
}
