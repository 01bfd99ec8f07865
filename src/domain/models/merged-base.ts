import type { JobSpec, Parent } from '../../trainer/protocol.ts';
import { locateBase } from '../base-models/adapter-base.ts';

type Config = Readonly<Record<string, unknown>>;

/**
 * What a model keeps of the settings of its training: all, whether its base is an adapter that was merged first, and the
 * model that it went on from.
 */
export const keptConfig = ({ settings, model }: JobSpec): Config => ({
  ...settings,
  merge_adapter: model.adapter === undefined ? undefined : true,
  parent: model.parent,
});

/** The model of Hone that a job goes on from, by its specification; `null` if it begins with a base. */
export const parentOf = (spec: unknown): Parent | null =>
  (spec as Partial<JobSpec> | null)?.model?.parent ?? null;

/** The model of Hone that a model was trained on from, by its configuration. */
export const parentIn = ({ parent }: Config): Parent | null => (parent as Parent | undefined) ?? null;

/** Whether the base of a model with this configuration is an adapter that was merged first. */
export const mergesAdapter = (config: Config): boolean => config.merge_adapter === true;

/** The settings in a model's configuration. */
export function settingsIn({ merge_adapter: _merged, parent: _parent, ...settings }: Config): Config {
  return settings;
}

/** A model's configuration without the model that it was trained on from. */
export function withoutParent({ parent: _, ...config }: Config): Config {
  return config;
}

/** The base of a model whose job was deleted, if it is an adapter that was merged first; else `null`. */
export const mergedBase = async (name: string, config: Config): Promise<JobSpec['model'] | null> =>
  mergesAdapter(config) ? locateBase(name, true) : null;
