import type { Settings } from '../../contract/settings.ts';

/** A model of Hone, or one of its checkpoints, that a training may go on from. */
export interface FoundParent {
  readonly modelId: string;
  readonly name: string;
  /** The step of the checkpoint; `null` for the model as it was trained. */
  readonly step: number | null;
  /** What it was trained from, as `model_name` and `merge_adapter` of a request. */
  readonly baseModel: string;
  readonly mergesAdapter: boolean;
  readonly task: string;
  /** What is known of the settings that it was trained with. */
  readonly settings: Partial<Settings>;
  /** The folder of its adapter, or of its weights if all were trained. */
  readonly folder: string;
  /** A file of it that could be a base by itself; `null` without one. */
  readonly gguf: string | null;
  /** The folder of its adapter, with all that a merge needs. @throws AppError `invalid` if there is none. */
  merged(): Promise<string>;
}

/** Finds models of Hone by what `model_name` says. */
export interface Parents {
  /**
   * A model by its name or either ID, or a checkpoint, such as `train_7@120`; `null` for what names a base model.
   * @throws AppError `invalid` or `not_found` for a model or a checkpoint that is not there.
   */
  find(reference: string): Promise<FoundParent | null>;
}

/** Whether all weights of a model were trained. */
export const isWhole = ({ settings }: Pick<FoundParent, 'settings'>): boolean => settings.adapter === 'full';
