import type { Profile } from '../../contract/profiles.ts';
import type { SessionStore } from '../../db/tables/session.ts';
import { AppError } from '../../errors.ts';
import { createFaults } from '../../faults.ts';
import type { HubAccess } from '../../hub/access.ts';
import { type HubModel, readModelInfo } from '../../hub/model-info.ts';
import type { TrainerRegistry } from '../machine/trainer-registry.ts';
import { type AdapterPlace, adapterPlace, locateBase } from './adapter-base.ts';
import { checkBase, locateModel } from './base-model.ts';
import type { SizeOf } from './model-size.ts';
import { modelNotes, whyUnusable } from './model-verdict.ts';
import { isWhole, type Parents } from './parent.ts';
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
  /**
   * Checks with the hub, or the folder; with `merges`, the model that its adapter is merged into.
   * @throws AppError `invalid`, `forbidden` or `upstream`.
   */
  checkModel(reference: string, merges?: boolean): Promise<CheckedModel>;
  /** Where a model's adapter is that a training can merge first; `null` if there is none. */
  adapterOf(reference: string): Promise<AdapterPlace | null>;
  recommend(profile: Profile, task: string): Recommendation;
}

type Recommendations = Record<string, Record<string, string[]>>;

export function createSelection(options: {
  store: SessionStore;
  registry: TrainerRegistry;
  hub: HubAccess;
  sizeOf: SizeOf;
  parents: Parents;
}): Selection {
  const { store, registry, hub, sizeOf, parents } = options;

  async function checkAccess(reference: string, merges: boolean): Promise<HubModel | null> {
    const base = await locateBase(reference, merges);
    if (base.adapter?.base_path === null) await readModelInfo(hub, base.adapter.base);
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
      if ((await parents.find(model)) === null) locateModel(model);
      store.set('selected_model', model);
      store.set('is_custom_model', custom);
    },
    async checkModel(named, mergesToo = false) {
      const parent = await parents.find(named);
      const reference = parent === null ? named : isWhole(parent) ? parent.folder : parent.baseModel;
      const merges = parent === null ? mergesToo : parent.mergesAdapter;
      const found = await checkAccess(reference, merges);
      const [size, description] = await Promise.all([sizeOf(reference, merges), registry.get()]);
      const faults = createFaults();
      for (const why of whyUnusable(reference, size, description)) faults.add('model_name', why);
      faults.raise();
      return { hub: found, notes: modelNotes(size, description) };
    },
    async adapterOf(reference) {
      try {
        return await adapterPlace(locateModel(reference));
      } catch {
        // The check says what is wrong with the name.
        return null;
      }
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
