import { asAppError } from '../../../errors.ts';
import type { DocumentRowsOptions } from './document-rows-options.ts';
import { makeRows } from './make-rows.ts';
import { dropReasons, makingName, type RowMaking, uselessAnswers } from './row-making.ts';
import type { Teacher } from './teacher.ts';
import { writeRows } from './write-rows.ts';

/** Executes makings of rows, one after another. */
export interface RowRunner {
  /** Starts the next making, unless one is executed. One that was interrupted comes first, and goes on. */
  next(): void;
  /** Ends the execution of a making. */
  interrupt(number: number): Promise<void>;
  /** Writes the rows that there are, and ends a making with a state. */
  end(number: number, state: RowMaking['state'], error: string | null): Promise<void>;
  /** Ends the execution; it goes on with the next start. */
  close(): Promise<void>;
}

export function createRowRunner(
  { store, datasets, graders, logger }: DocumentRowsOptions,
  teacher: Teacher,
): RowRunner {
  const { rowMakings } = store;
  let isClosed = false;
  let current: {
    readonly number: number;
    readonly stop: AbortController;
    readonly over: Promise<void>;
  } | null = null;

  /** Ends a making with what there is. */
  async function end(number: number, state: RowMaking['state'], error: string | null): Promise<void> {
    const making = rowMakings.get(number) as RowMaking | null;
    if (making === null) return;
    let told = error;
    let written = making.datasets;
    try {
      written = await writeRows(datasets, rowMakings, number, making);
    } catch (thrown) {
      told ??= `The rows could not be written: ${asAppError(thrown).message} Resume it to try again.`;
    }
    const isEmpty = state === 'completed' && making.rows.training + making.rows.validation === 0;
    if (isEmpty) told ??= withoutRows(making);
    const endedAt = new Date().toISOString();
    const ended = told === null ? state : 'failed';
    if (ended === 'failed')
      logger.warn({ making: makingName(number), error: told }, 'A making of rows failed');
    // It may have been deleted meanwhile.
    if (rowMakings.get(number) !== null)
      rowMakings.put(number, { ...making, state: ended, error: told, endedAt, datasets: written });
  }

  async function work(number: number, signal: AbortSignal): Promise<void> {
    rowMakings.put(number, { ...(rowMakings.get(number) as RowMaking), state: 'running' });
    try {
      await makeRows({ store: rowMakings, transaction: store.transaction, teacher, graders }, number, signal);
    } catch (thrown) {
      if (!signal.aborted) await end(number, 'failed', asAppError(thrown).message);
      return;
    }
    await end(number, 'completed', null);
  }

  function next(): void {
    if (isClosed || current !== null) return;
    const number = rowMakings.numbers('running')[0] ?? rowMakings.numbers('queued')[0];
    if (number === undefined) return;
    const stop = new AbortController();
    const over = work(number, stop.signal).finally(() => {
      current = null;
      next();
    });
    current = { number, stop, over };
  }

  async function interrupt(number: number): Promise<void> {
    if (current?.number !== number) return;
    const { stop, over } = current;
    stop.abort();
    await over;
  }

  return {
    next,
    interrupt,
    end,
    async close() {
      isClosed = true;
      current?.stop.abort();
      await current?.over;
    },
  };
}

/** Why there is no row, by what became of the answers. */
function withoutRows({ request: { model }, useless, dropped, answered, lastProblem }: RowMaking): string {
  const counted = <K extends string>(
    counts: Readonly<Record<K, number>>,
    words: Readonly<Record<K, string>>,
  ) =>
    (Object.keys(counts) as K[])
      .filter((name) => counts[name] > 0)
      .map((name) => `${counts[name]} ${words[name]}`);
  const answers = counted(useless, uselessAnswers);
  const rows = counted(dropped, dropReasons);
  const told = [
    ...(answers.length === 0 ? [] : [`answers: ${answers.join(', ')}`]),
    ...(rows.length === 0 ? [] : [`rows: ${rows.join(', ')}`]),
  ];
  const problem = lastProblem === null ? '' : ` ${lastProblem}`;
  return `${answered} answers of ${model} made no row (${told.join('; ')}).${problem}`;
}
