import { isAbsolute, join } from 'node:path';
import type { JobRow } from '../../db/tables/jobs.ts';
import type { ModelRow } from '../../db/tables/models.ts';
import type { TrainedModel } from '../../inference/engine/trained-engine.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { mergedBase } from './merged-base.ts';

/**
 * What was trained, for an engine that runs it without a GGUF.
 *
 * @param trained the job, or the model if its job was deleted.
 * @param folder the model's or the job's folder, in which links to the base model are made while it is loaded.
 */
export async function trainedModelOf(trained: JobRow | ModelRow, folder: string): Promise<TrainedModel> {
  const { task, strategy } = trained;
  const scratch = join(folder, 'answer.partial');
  if ('spec' in trained) {
    const { model, settings } = trained.spec as JobSpec;
    return { base: model, task, strategy, settings, scratch };
  }
  const { baseModel: name, config } = trained;
  const base = (await mergedBase(name, config)) ?? { name, path: isAbsolute(name) ? name : null };
  return { base, task, strategy, settings: config, scratch };
}
