import { hasCuda, type Machine } from '../machine/machine.ts';
import type { TrainerRegistry } from '../machine/trainer-registry.ts';
import type { SettingsContext } from './settings.ts';
import type { TrainingRequest } from './training-request.ts';

/** Reads what settings depend on, for the requested profile or else this machine's own. */
export type ReadSettingsContext = (profile?: TrainingRequest['compute_specs']) => Promise<SettingsContext>;

export function createSettingsContext(options: {
  readonly machine: () => Promise<Machine>;
  readonly registry: TrainerRegistry;
  readonly defaultBatchSize: number | null;
  readonly cluster: boolean;
}): ReadSettingsContext {
  const { machine, registry, defaultBatchSize, cluster } = options;
  return async (profile) => {
    const [here, description] = await Promise.all([machine(), registry.get()]);
    return {
      profile: profile ?? here.profile,
      cuda: hasCuda(here),
      quantizes: description.versions.bitsandbytes != null,
      bfloat16FromWidth: description.bfloat16_from_width,
      cores: Math.max(
        1,
        Math.floor(
          Math.min(here.facts.cpuCoresLogical, here.facts.cpuQuotaCores ?? Number.POSITIVE_INFINITY),
        ),
      ),
      gpus: hasCuda(here) ? here.facts.gpus.length : 0,
      cluster,
      oneWorker: description.combinations.flatMap(({ strategy, provider, why_one_worker: why }) =>
        why === null ? [] : [{ strategy, provider, why }],
      ),
      defaultBatchSize,
      lrSchedulerTypes: description.lr_scheduler_types,
      optimizers: description.optimizers,
      optimizerStateBytes: description.optimizer_state_bytes,
    };
  };
}
