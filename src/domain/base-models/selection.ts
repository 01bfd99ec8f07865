import type { Profile } from '../../contract/profiles.ts';
import type { SessionStore } from '../../db/session.ts';
import { AppError } from '../../errors.ts';
import { createFaults } from '../../faults.ts';
import type { HubAccess } from '../../hub/access.ts';
import { type HubModel, readModelInfo } from '../../hub/model-info.ts';
import type { TrainerRegistry } from '../machine/trainer-registry.ts';
import { checkBase, locateModel } from './base-model.ts';
import type { ModelSize } from './model-size.ts';
import { modelNotes, whyUnusable } from './model-verdict.ts';
import reviewedModels from './recommended-models.json' with { type: 'json' };

/** The user's current selection, kept across restarts. */
export interface Session {
  readonly task: string | null;
  readonly selectedModel: string | null;
  readonly isCustomModel: boolean;
}

/** A model for a profile and task, with its alternatives, best first. */
export interface Recommendation {
  readonly recommended: string;
  readonly possible: readonly string[];
}

/** A model that can be trained: what the hub says of it, and what is to be known before. */
export interface CheckedModel {
  readonly hub: HubModel | null;
  readonly notes: readonly string[];
}

export interface Selection {
  session(): Session;
  chooseTask(task: string): Promise<void>;
  chooseModel(model: string, custom: boolean): Promise<void>;
  /** Checks with the hub, or the folder. @throws AppError `invalid`, `forbidden` or `upstream`. */
  checkModel(reference: string): Promise<CheckedModel>;
  recommend(profile: Profile, task: string): Recommendation;
}

type Recommendations = Record<string, Record<string, string[]>>;

export function createSelection(options: {
  store: SessionStore;
  registry: TrainerRegistry;
  hub: HubAccess;
  sizeOf: (reference: string) => Promise<ModelSize>;
}): Selection {
  const { store, registry, hub, sizeOf } = options;

  async function checkAccess(reference: string): Promise<HubModel | null> {
    const base = locateModel(reference);
    if (base.path === null) return readModelInfo(hub, base.name);
    await checkBase(base);
    return null;
  }

  return {
    session: () => ({
      task: (store.get('task') as string | undefined) ?? null,
      selectedModel: (store.get('selected_model') as string | undefined) ?? null,
      isCustomModel: (store.get('is_custom_model') as boolean | undefined) ?? false,
    }),
    async chooseTask(task) {
      await registry.checkTask(task);
      store.set('task', task);
    },
    async chooseModel(model, custom) {
      locateModel(model);
      store.set('selected_model', model);
      store.set('is_custom_model', custom);
    },
    async checkModel(reference) {
      const found = await checkAccess(reference);
      const [size, description] = await Promise.all([sizeOf(reference), registry.get()]);
      const faults = createFaults();
      for (const why of whyUnusable(reference, size, description)) faults.add('model_name', why);
      faults.raise();
      return { hub: found, notes: modelNotes(size, description) };
    },
    recommend(profile, task) {
      const possible = (reviewedModels.recommendations as Recommendations)[profile]?.[task];
      if (possible === undefined) {
        throw new AppError('not_found', `No model is recommended for the task "${task}".`);
      }
      return { recommended: possible[0] as string, possible };
    },
  };
}
