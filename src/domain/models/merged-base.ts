import type { JobSpec } from '../../trainer/protocol.ts';
import { locateBase } from '../base-models/adapter-base.ts';

type Config = Readonly<Record<string, unknown>>;

/** What a model keeps of the settings of its training: all, and whether its base is an adapter that was merged first. */
export const keptConfig = ({ settings, model }: JobSpec): Config => ({
  ...settings,
  merge_adapter: model.adapter === undefined ? undefined : true,
});

/** Whether the base of a model with this configuration is an adapter that was merged first. */
export const mergesAdapter = (config: Config): boolean => config.merge_adapter === true;

/** The settings in a model's configuration. */
export function settingsIn({ merge_adapter: _merged, ...settings }: Config): Config {
  return settings;
}

/** The base of a model whose job was deleted, if it is an adapter that was merged first; else `null`. */
export const mergedBase = async (name: string, config: Config): Promise<JobSpec['model'] | null> =>
  mergesAdapter(config) ? locateBase(name, true) : null;
