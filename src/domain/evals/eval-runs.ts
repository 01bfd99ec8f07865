import type { EvalPage } from '../../db/tables/evals.ts';
import { AppError } from '../../errors.ts';
import type { FineTuningFiles } from '../fine-tuning/fine-tuning-files.ts';
import { type Asks, messagesFor } from './asks.ts';
import { criteriaOf } from './criteria.ts';
import { checkRows, type RowSource, readRows, rowFault } from './eval-rows.ts';
import { createEvalRunner, type EvalRunnerOptions } from './eval-runner.ts';
import { type Eval, type EvalRun, newId, nowSeconds, type OutputItem } from './objects.ts';
import type { WaitingRow } from './output-item.ts';

/** Who asks. */
export type Client = { readonly isLocal: boolean };

/** A request for a run. */
export interface NewRun {
  readonly name: string;
  readonly metadata: EvalRun['metadata'];
  /** As it is told of the run. */
  readonly dataSource: EvalRun['data_source'];
  readonly source: RowSource;
  /** `null` if the rows have answers. */
  readonly asks: Asks | null;
}

/** The runs of evals. Unknown IDs are `not_found`, and lists as `Evals.list`. */
export interface EvalRuns {
  /** Puts a run into the queue. @throws AppError as `Evals.create`, or `too_many`. */
  start(evalId: string, request: NewRun, client: Client): Promise<EvalRun>;
  list(evalId: string, page: EvalPage): EvalRun[] | null;
  get(evalId: string, id: string): EvalRun;
  /** @throws AppError `conflict` if it has ended. */
  cancel(evalId: string, id: string): Promise<EvalRun>;
  remove(evalId: string, id: string): Promise<void>;
  items(evalId: string, id: string, page: EvalPage): OutputItem[] | null;
  item(evalId: string, id: string, itemId: string): OutputItem;
  /** Starts the next run, if none is executed; after a restart, the one that was interrupted. */
  resume(): void;
  /** Ends the execution of a run that is gone. */
  end(id: string): Promise<void>;
  close(): Promise<void>;
}

export interface EvalRunsOptions extends EvalRunnerOptions {
  readonly files: FineTuningFiles;
  readonly queueLimit: number;
  /** Finds an eval. @throws AppError `not_found`. */
  readonly get: (evalId: string) => Eval;
}

/** The error for an ID that nothing has. */
export const missing = (what: string, id: string): AppError =>
  new AppError('not_found', `No ${what} found with id '${id.slice(0, 100)}'.`, { details: { code: null } });

export function createEvalRuns(options: EvalRunsOptions): EvalRuns {
  const { store, graders, files, modelReferences, queueLimit } = options;
  const { evals } = store;
  const runner = createEvalRunner(options);

  function get(evalId: string, id: string): EvalRun {
    const found = evals.getRun(id) as EvalRun | null;
    if (found?.eval_id !== options.get(evalId).id) throw missing('run', id);
    return found;
  }

  return {
    async start(evalId, request, client) {
      const { source, asks } = request;
      const evaluation = options.get(evalId);
      if (evals.runIds('queued').length >= queueLimit)
        throw new AppError('too_many', `The queue is full: ${queueLimit} runs of evals are waiting.`);
      const criteria = criteriaOf(evaluation);
      for (const one of criteria) graders.requireAllowed(one, client);
      if (asks !== null) modelReferences.resolve(asks.model);
      const rows = await readRows(source, files);
      await checkRows(source, rows, evaluation, criteria, asks !== null);
      if (asks !== null)
        for (const [at, { item }] of rows.entries())
          try {
            messagesFor(asks, item);
          } catch (error) {
            throw rowFault(source, at, `input_messages: ${(error as Error).message}`);
          }
      const made = queuedRun(evalId, request, rows.length);
      const counts = criteria.map(({ name }) => ({ testing_criteria: name, passed: 0, failed: 0 }));
      const run = { ...made, per_testing_criteria_results: counts };
      // The eval may be gone by now.
      options.get(evalId);
      const waiting = rows.map((row, place): { id: string; row: WaitingRow } => ({
        id: newId('outputitem'),
        row: { ...row, place },
      }));
      store.transaction(() => evals.addRun({ run, asks, rows: waiting }));
      runner.next();
      return run;
    },

    list(evalId, page) {
      options.get(evalId);
      const last = page.after === null ? null : (evals.getRun(page.after) as EvalRun | null);
      if (page.after !== null && last?.eval_id !== evalId) return null;
      return evals.listRuns(evalId, page) as EvalRun[];
    },
    get,

    async cancel(evalId, id) {
      const found = get(evalId, id);
      if (found.status !== 'queued' && found.status !== 'in_progress')
        throw new AppError('conflict', `The run ${id} is ${found.status} and cannot be canceled.`);
      const canceled: EvalRun = { ...found, status: 'canceled' };
      evals.putRun(canceled);
      await runner.end(id);
      return canceled;
    },

    async remove(evalId, id) {
      get(evalId, id);
      evals.removeRun(id);
      await runner.end(id);
    },

    items(evalId, id, page) {
      get(evalId, id);
      const last = page.after === null ? null : (evals.getItem(page.after) as OutputItem | null);
      if (page.after !== null && last?.run_id !== id) return null;
      return evals.listItems(id, page) as OutputItem[];
    },

    item(evalId, id, itemId) {
      get(evalId, id);
      const found = evals.getItem(itemId) as OutputItem | null;
      if (found?.run_id !== id) throw missing('output item', itemId);
      return found;
    },

    resume: runner.next,
    end: runner.end,
    close: runner.close,
  };
}

const queuedRun = (evalId: string, { name, metadata, dataSource, asks }: NewRun, total: number): EvalRun => ({
  id: newId('evalrun'),
  object: 'eval.run',
  created_at: nowSeconds(),
  eval_id: evalId,
  name,
  status: 'queued',
  model: asks?.model ?? null,
  data_source: dataSource,
  metadata,
  error: null,
  // It has the address by which a client asks.
  report_url: '',
  result_counts: { total, passed: 0, failed: 0, errored: 0 },
  per_testing_criteria_results: [],
  per_model_usage: [],
});
