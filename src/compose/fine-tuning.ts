import { createEvals } from '../domain/evals/evals.ts';
import { createEvalFiles } from '../domain/fine-tuning/eval-files.ts';
import { createFineTuningFiles } from '../domain/fine-tuning/fine-tuning-files.ts';
import { createFineTuningJobs } from '../domain/fine-tuning/fine-tuning-jobs.ts';
import { createModelReferences } from '../domain/fine-tuning/model-references.ts';
import { createResultFiles } from '../domain/fine-tuning/result-files.ts';
import { createAliases } from '../domain/models/aliases.ts';
import type { Services } from '../domain/services.ts';
import type { Foundation } from './foundation.ts';

/** OpenAI's fine-tuning and evals over the same datasets, jobs, models and graders. */
export function composeFineTuning(
  { config, logger, store }: Foundation,
  { machine }: Pick<Services, 'machine'>,
  services: Pick<
    Services,
    | 'checkpoints'
    | 'datasets'
    | 'graders'
    | 'imports'
    | 'jobs'
    | 'models'
    | 'playground'
    | 'recommendedSettings'
    | 'remoteModels'
    | 'selection'
  >,
) {
  const results = createResultFiles(store);
  const { datasets, imports, selection } = services;
  const files = createFineTuningFiles({
    store: store.fineTuning,
    datasets,
    imports,
    results,
    evalFiles: createEvalFiles(store.evals, config.limits.evalFiles),
  });
  const recommendedModel = async () =>
    selection.recommend((await machine()).profile, 'text-generation').recommended;
  const aliases = createAliases(store.aliases);
  const modelReferences = createModelReferences({ ...services, aliases, store: store.fineTuning });
  return {
    fineTuningFiles: files,
    aliases,
    modelReferences,
    evals: createEvals({
      ...services,
      store,
      logger,
      files,
      modelReferences,
      queueLimit: config.limits.queuedJobs,
      limit: config.limits.evals,
    }),
    fineTuningJobs: createFineTuningJobs({ ...services, store, files, results, recommendedModel }),
  };
}
