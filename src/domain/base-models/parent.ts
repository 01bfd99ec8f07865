import type { Settings } from '../../contract/settings.ts';
import { refusalOf } from '../../faults.ts';

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
  /** How its adapter is merged into a new base. @throws AppError `invalid` if it cannot be. */
  merge(): ParentMerge;
}

/** A merge of the adapter that a training goes on from. */
export interface ParentMerge {
  /** The folder of an adapter of the same shape, by which a request is judged and estimated. */
  readonly like: string;
  /** Makes the folder of the adapter, with all that a merge needs, when a job starts. @throws AppError `invalid` if it is gone. */
  make(): Promise<string>;
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

/** What a start throws for an error in copying a parent's adapter: a refusal, if it was deleted meanwhile. */
export const parentError = (error: unknown, name: string): unknown =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? refusalOf(
        'model_name',
        `The adapter of ${name} is gone. Put it back, or name another model or checkpoint`,
      )
    : error;
