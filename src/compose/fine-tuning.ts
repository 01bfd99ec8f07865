import { createFineTuningFiles } from '../domain/fine-tuning/fine-tuning-files.ts';
import { createFineTuningJobs } from '../domain/fine-tuning/fine-tuning-jobs.ts';
import { createModelReferences } from '../domain/fine-tuning/model-references.ts';
import { createResultFiles } from '../domain/fine-tuning/result-files.ts';
import type { Services } from '../domain/services.ts';
import type { Foundation } from './foundation.ts';

/** OpenAI's fine-tuning API over the same datasets and jobs. */
export function composeFineTuning(
  { store }: Foundation,
  { machine }: Pick<Services, 'machine'>,
  services: Pick<
    Services,
    'checkpoints' | 'datasets' | 'imports' | 'jobs' | 'models' | 'recommendedSettings' | 'selection'
  >,
) {
  const results = createResultFiles(store);
  const { datasets, imports, selection } = services;
  const files = createFineTuningFiles({ store: store.fineTuning, datasets, imports, results });
  const recommendedModel = async () =>
    selection.recommend((await machine()).profile, 'text-generation').recommended;
  return {
    fineTuningFiles: files,
    modelReferences: createModelReferences({ ...services, store: store.fineTuning }),
    fineTuningJobs: createFineTuningJobs({ ...services, store, files, results, recommendedModel }),
  };
}
