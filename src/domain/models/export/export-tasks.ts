import type { ExportTaskState } from '../../../contract/frames.ts';
import { type ExportForm, formNames } from '../../../contract/models/export-forms.ts';
import { AppError } from '../../../errors.ts';
import type { ExportStep } from '../../../trainer/reexport.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import type { Model } from '../models.ts';

/** What an export makes. */
export interface Wanted {
  readonly types: readonly string[];
  readonly forms: readonly ExportForm[];
}

/** An export of a kept model that is underway. */
export interface ExportTask {
  readonly quantizations: readonly string[];
  readonly forms: readonly ExportForm[];
  readonly state: Extract<ExportTaskState, 'waiting' | 'running'>;
  /** What it is doing; `null` while it waits. */
  readonly phase: ExportStep['phase'] | null;
  /** Of the phase, 0 to 1. */
  readonly progress: number | null;
  readonly detail: string | null;
}

/** The work of an export, between its frames. */
export interface Underway {
  readonly signal: AbortSignal;
  onStep(step: ExportStep): void;
  /** Says that it is over, at the same moment as its last frame: who reads it then finds none underway. */
  finish(): void;
}

interface Entry {
  task: ExportTask;
  readonly stop: AbortController;
  done: Promise<void>;
}

/** The exports that are underway: one for a model, whatever they are made from. */
export interface ExportTasks {
  of(model: Pick<Model, 'modelId'>): ExportTask | null;
  /** @throws AppError `conflict` while the model is exported. */
  refuseSecond(model: Model): void;
  /**
   * Begins one; `work` stores what it makes and never throws.
   * @param turn when it may begin; at once if it need not wait.
   */
  begin(
    model: Model,
    wanted: Wanted,
    turn: ((work: () => Promise<void>, signal: AbortSignal) => Promise<void>) | null,
    work: (underway: Underway) => Promise<void>,
  ): ExportTask;
  /** Resolves when it has ended. @throws AppError `conflict` if none is underway. */
  cancel(model: Model): Promise<void>;
  close(): Promise<void>;
}

/** The fields of every `export` frame of a model. */
export const aboutExport = (model: Model, { types, forms }: Wanted) => ({
  model_id: model.modelId,
  id: model.id,
  quantizations: [...types],
  forms: [...forms],
});

const wordsOf = ({ quantizations, forms }: ExportTask): string =>
  [...quantizations, ...forms.map((form) => formNames[form])].join(', ');

export function createExportTasks(frames: FrameLog): ExportTasks {
  const entries = new Map<string, Entry>();
  /** Those that have not come to their end, and those that still put in order what they leave. */
  const working = new Set<Promise<void>>();

  return {
    of: ({ modelId }) => entries.get(modelId)?.task ?? null,
    refuseSecond({ modelId, name }) {
      const task = entries.get(modelId)?.task;
      if (task === undefined) return;
      throw new AppError(
        'conflict',
        `${name} is being exported to ${wordsOf(task)}. Wait until that has finished, or cancel it.`,
      );
    },
    begin(model, wanted, turn, work) {
      const stop = new AbortController();
      const nothing = { phase: null, progress: null, detail: null };
      const entry: Entry = {
        task: {
          quantizations: wanted.types,
          forms: wanted.forms,
          state: turn === null ? 'running' : 'waiting',
          ...nothing,
        },
        stop,
        done: Promise.resolve(),
      };
      const tell = (change: Partial<ExportTask>) => {
        entry.task = { ...entry.task, ...change };
        frames.send('export', null, { ...aboutExport(model, wanted), ...entry.task });
      };
      const finish = () => {
        if (entries.get(model.modelId) === entry) entries.delete(model.modelId);
      };
      entries.set(model.modelId, entry);
      if (turn !== null) tell({});
      const whole = () => {
        if (turn !== null && !stop.signal.aborted) tell({ state: 'running' });
        return work({ signal: stop.signal, onStep: tell, finish });
      };
      entry.done = (turn === null ? whole() : turn(whole, stop.signal)).finally(() => {
        finish();
        working.delete(entry.done);
      });
      working.add(entry.done);
      return entry.task;
    },
    async cancel(model) {
      const entry = entries.get(model.modelId);
      if (entry === undefined) throw new AppError('conflict', `${model.name} is not being exported.`);
      entry.stop.abort();
      await entry.done;
    },
    async close() {
      for (const { stop } of entries.values()) stop.abort();
      await Promise.all(working);
    },
  };
}
