import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../db/store.ts';
import { AppError, asAppError } from '../../errors.ts';
import type { ModelReferences } from '../fine-tuning/model-references.ts';
import { partsOf } from '../graders/grader-definition.ts';
import type { GradedRow, Graders } from '../graders/graders.ts';
import type { Playground, PlaygroundAnswer } from '../playground/playground.ts';
import { type Asks, messagesFor } from './asks.ts';
import { criteriaOf } from './criteria.ts';
import { inLanes } from './in-lanes.ts';
import type { Eval, EvalRun, Sample } from './objects.ts';
import {
  type Answered,
  emptySample,
  givenAnswer,
  modelAnswer,
  outputItemOf,
  type WaitingRow,
} from './output-item.ts';
import { withItems } from './run-results.ts';

/** So many rows are answered at once. */
const atOnce = 4;
/** So many are scored and stored together, with a model that answers or judges, and without. Each time a process starts. */
const together = { withModel: 32, without: 1000 } as const;
/** Before a model that has too many requests is asked again. */
const busyMs = 1000;

export interface EvalRunnerOptions {
  readonly store: Store;
  readonly graders: Graders;
  readonly playground: Playground;
  readonly modelReferences: ModelReferences;
  readonly logger: { warn(fields: object, text: string): void };
}

/** Executes the runs of evals, one after another. */
export interface EvalRunner {
  /** Starts the next run, unless one is executed. One that was interrupted comes first, and goes on. */
  next(): void;
  /** Ends the execution of a run that is no longer in progress. */
  end(runId: string): Promise<void>;
  /** Ends the execution; it goes on with the next start. */
  close(): Promise<void>;
}

export function createEvalRunner(options: EvalRunnerOptions): EvalRunner {
  const { store, graders, logger } = options;
  const { evals } = store;
  let isClosed = false;
  let current: { readonly id: string; readonly stop: AbortController; readonly over: Promise<void> } | null =
    null;

  async function work(id: string, signal: AbortSignal): Promise<void> {
    let run: EvalRun = { ...(evals.getRun(id) as EvalRun), status: 'in_progress' };
    const asks = evals.asksOf(id) as Asks | null;
    const criteria = criteriaOf(evals.get(run.eval_id) as Eval);
    const hasModel = asks !== null || criteria.some((one) => partsOf(one).some((part) => 'model' in part));
    const count = hasModel ? together.withModel : together.without;
    evals.putRun(run);
    for (;;) {
      const waiting = evals.waiting(id, count);
      if (waiting.length === 0) break;
      const answers: Answered[] = await inLanes(waiting, atOnce, async (one) => {
        const row = one.row as WaitingRow;
        const answer = asks === null ? givenAnswer(row) : await ask(options, asks, row, id, signal);
        return { id: one.id, row, ...answer };
      });
      signal.throwIfAborted();
      const sound = answers.filter(({ graded }) => graded !== null);
      const rows = sound.map(({ row, graded }) => ({
        item: row.item,
        sample: graded as GradedRow['sample'],
      }));
      const { scores, usage } =
        rows.length === 0 ? { scores: [], usage: {} } : await graders.scoreAll(criteria, rows, signal);
      signal.throwIfAborted();
      const items = answers.map((one) => outputItemOf(run, one, criteria, scores[sound.indexOf(one)] ?? []));
      run = withItems(run, items, usage);
      store.transaction(() => {
        for (const item of items) evals.putItem(item);
        evals.putRun(run);
      });
    }
    evals.putRun({ ...run, status: 'completed' });
  }

  function fail(id: string, thrown: unknown): void {
    const { kind, message, details } = asAppError(thrown);
    const error = { code: typeof details.code === 'string' ? details.code : kind, message };
    logger.warn({ run: id, error: message }, 'A run of an eval failed');
    const run = evals.getRun(id) as EvalRun | null;
    if (run !== null) evals.putRun({ ...run, status: 'failed', error });
  }

  function next(): void {
    if (isClosed || current !== null) return;
    const id = evals.runIds('in_progress')[0] ?? evals.runIds('queued')[0];
    if (id === undefined) return;
    const stop = new AbortController();
    const over = work(id, stop.signal)
      .catch((thrown) => {
        if (!stop.signal.aborted) fail(id, thrown);
      })
      .finally(() => {
        current = null;
        next();
      });
    current = { id, stop, over };
  }

  return {
    next,
    async end(runId) {
      if (current?.id !== runId) return;
      const { stop, over } = current;
      stop.abort();
      await over;
    },
    async close() {
      isClosed = true;
      current?.stop.abort();
      await current?.over;
    },
  };
}

/** The answer of a model to a row, or why it has none. @throws what is no matter of the row. */
async function ask(
  { playground, modelReferences }: EvalRunnerOptions,
  asks: Asks,
  { item }: WaitingRow,
  caller: string,
  signal: AbortSignal,
): Promise<Pick<Answered, 'sample' | 'graded'>> {
  const input: Sample['input'] = messagesFor(asks, item);
  const request = {
    ...modelReferences.resolve(asks.model),
    input: {
      kind: 'messages' as const,
      messages: [...input],
      tools: asks.tools ?? undefined,
      thinking: asks.thinking ?? undefined,
    },
    ...asks.sampling,
    caller,
  };
  for (;;) {
    let answer: PlaygroundAnswer;
    try {
      answer = await playground.generate(request, { signal });
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof AppError)) throw thrown;
      const { kind, message } = thrown;
      if (kind === 'too_many') {
        await sleep(busyMs, undefined, { signal });
        continue;
      }
      if (kind !== 'invalid') throw thrown;
      return {
        sample: { ...emptySample(asks, input), error: { code: 'invalid_request', message } },
        graded: null,
      };
    }
    return modelAnswer(asks, input, answer);
  }
}
