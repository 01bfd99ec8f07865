import type { HubAccess } from '../hub/access.ts';
import { findCached } from '../hub/cached-model.ts';
import { readModelConfig } from '../hub/model-config.ts';
import { readModelInfo } from '../hub/model-info.ts';
import { locateModel } from './base-model.ts';
import { architectureOf, type ModelShape, readModelShape, shapeOf } from './model-shape.ts';
import catalogue from './recommended-models.json' with { type: 'json' };

/** How large a base model is, as far as it can be known before it is downloaded. */
export interface ModelSize {
  readonly parameters: number | null;
  readonly shape: ModelShape | null;
  /** The class in its configuration, `null` where that is not known. */
  readonly architecture: string | null;
  /** Whether its files are on this machine already. */
  readonly local: boolean;
}

/** One model of the reviewed list. */
export interface ReviewedModel {
  readonly billionParameters: number;
  readonly licence: string;
  readonly why: string;
  /** From its config.json. */
  readonly shape: Omit<ModelShape, 'parameters'>;
}

const unknown = { shape: null, architecture: null };

/** What the reviewed list says of a model; `undefined` for one that is not in it. */
export const reviewed = (name: string): ReviewedModel | undefined =>
  (catalogue.models as Readonly<Record<string, ReviewedModel>>)[name];

const keptAnswers = 100;
/** How long a hub that gave no answer is not asked again. */
const failureKeptMs = 30_000;
/** An estimate moves as one edits: it waits for the hub a moment, and asks once. */
const patience = { timeoutMs: 5_000, backoffMs: 1, waitMs: 0 };

/**
 * Finds out sizes: of a folder or the shared cache by the files, of a reviewed model by the list, of any
 * other by asking the hub, whose answer is kept.
 */
export function createModelSizes(access: HubAccess): (reference: string) => Promise<ModelSize> {
  const hub = { ...access, patience };
  const asked = new Map<string, Promise<ModelSize>>();

  async function ask(name: string): Promise<ModelSize> {
    const [info, config] = await Promise.all([readModelInfo(hub, name), readModelConfig(hub, name)]);
    const { parameters } = info;
    return {
      parameters,
      shape: parameters === null ? null : shapeOf(config, parameters),
      architecture: architectureOf(config),
      local: false,
    };
  }

  return async (reference) => {
    const { path, name } = locateModel(reference);
    const folder = path ?? (await findCached(name));
    if (folder !== null) {
      const { shape, architecture } = await readModelShape(folder).catch(() => unknown);
      if (shape !== null || path !== null)
        return { parameters: shape?.parameters ?? null, shape, architecture, local: true };
    }
    const known = reviewed(name);
    if (known !== undefined) {
      const parameters = Math.round(known.billionParameters * 1e9);
      return { parameters, shape: { ...known.shape, parameters }, architecture: null, local: false };
    }
    const answer = asked.get(name) ?? ask(name);
    if (asked.size >= keptAnswers) asked.delete(asked.keys().next().value as string);
    asked.set(name, answer);
    return answer.catch(() => {
      setTimeout(() => {
        if (asked.get(name) === answer) asked.delete(name);
      }, failureKeptMs).unref();
      return { parameters: null, ...unknown, local: false };
    });
  };
}
