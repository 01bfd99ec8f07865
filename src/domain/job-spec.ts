import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type JobSpec, protocolVersion } from '../trainer/protocol.ts';
import { type BaseModel, checkLocalModel, locateModel } from './base-model.ts';
import { type Catalog, defaultProvider, defaultStrategy } from './catalog.ts';
import { type Datasets, freezeRows, type TrainingData } from './datasets.ts';
import { shapeFor } from './row-validator.ts';
import { resolveSettings, type Settings, type SettingsContext } from './settings.ts';
import type { TrainingRequest } from './training-request.ts';

/** A request that has been judged: everything a specification is made of, but for the job's folder. */
export interface JudgedRequest {
  readonly request: TrainingRequest;
  readonly strategy: string;
  readonly provider: string;
  readonly settings: Settings;
  readonly base: BaseModel;
  readonly data: TrainingData;
}

/** Who knows what a request is judged by. */
export interface Judges {
  readonly catalog: Catalog;
  readonly datasets: Datasets;
  readonly settingsContext: (profile: TrainingRequest['compute_specs']) => Promise<SettingsContext>;
}

/** The GGUF types that a request asks for; none where it wants no export. */
export const exportTypes = (request: Pick<TrainingRequest, 'export'>): readonly string[] =>
  request.export === 'none' ? [] : (request.export?.quantizations ?? ['Q8_0']);

/** @throws AppError `invalid` or `not_found` with the field and what to set instead. */
export async function judgeRequest(request: TrainingRequest, judges: Judges): Promise<JudgedRequest> {
  const strategy = request.strategy ?? defaultStrategy;
  const provider = await judges.catalog.checkCombination(
    request.task,
    strategy,
    request.provider ?? defaultProvider,
  );
  const context = await judges.settingsContext(request.compute_specs);
  const settings = resolveSettings(request, provider, context);
  const base = locateModel(request.model_name);
  const description = await judges.catalog.get();
  if (base.path !== null) {
    await checkLocalModel(base.path, request.export === 'none' ? null : description.export_architectures);
  }
  const data = await judges.datasets.forTraining(request.dataset, shapeFor(request.task, strategy));
  return { request, strategy, provider, settings, base, data };
}

/** Makes a job's folder anew, with its own rows and its specification. */
export async function writeSpec(
  judged: JudgedRequest,
  job: {
    readonly name: string;
    readonly folder: string;
    readonly logsDir: string | null;
    readonly tools: JobSpec['tools'];
  },
): Promise<JobSpec> {
  const { request, data } = judged;
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
    dataset: { name: data.name, path: rowsPath, rows: data.numExamples },
    settings: judged.settings,
    export: request.export === 'none' ? null : { quantizations: exportTypes(request) },
    tensorboard_dir: job.logsDir === null ? null : join(job.logsDir, job.name),
    tools: job.tools,
  };
  await writeFile(join(job.folder, 'spec.json'), `${JSON.stringify(spec, null, 2)}\n`);
  return spec;
}
