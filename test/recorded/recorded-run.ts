import type { Phase } from '../../src/contract/jobs.ts';
import type { JournalLine } from '../../src/contract/journal.ts';
import type { TimePlan } from '../../src/domain/job-record/timing/time-plan.ts';

/** What a run took: the lines of its journal that tell of its time. */
export interface RecordedRun {
  /** Its base model, strategy and task. */
  readonly kind: string;
  /** What it was planned to take when it started, by the runs before it. */
  readonly plan: TimePlan;
  /** Whether its times are those of the clock, with what it waited for a processor. */
  readonly waits: boolean;
  readonly lines: readonly Recorded[];
}

/** The milliseconds since the line before, and the fields that tell of time. Without fields it is the next step. */
type Recorded = readonly [ms: number, ...fields: Fields | []];

type Fields =
  | readonly ['hello', step: number | null]
  | readonly ['phase', phase: Phase, progress: number | null]
  | readonly ['metric', step: number, total: number]
  | readonly ['eval' | 'sample' | 'checkpoint', step: number]
  | readonly ['done'];

/** The names of the fields. */
const names: Readonly<Record<string, readonly string[]>> = {
  hello: ['resumed_from_step'],
  phase: ['phase', 'progress'],
  metric: ['step', 'total_steps'],
  ...{ eval: ['step'], sample: ['step'], checkpoint: ['step'], done: [] },
};

/**
 * The lines of a journal as they are kept.
 * @param waitedAt how much of the time until then is left out, in milliseconds.
 */
export function shorten(
  lines: readonly JournalLine[],
  started: number,
  waitedAt: (at: number) => number,
): Recorded[] {
  const moved = (at: number) => at - Math.round(waitedAt(at));
  let [before, step, total] = [moved(started), 0, 0];
  return lines.flatMap((line): Recorded[] => {
    const fields = names[line.type]?.map((name) => (line as unknown as Record<string, unknown>)[name]);
    if (fields === undefined) return [];
    const at = Math.max(before, moved(Date.parse(line.time)));
    const ms = at - before;
    before = at;
    const isNext = line.type === 'metric' && line.step === step + 1 && line.total_steps === total;
    if (line.type === 'metric') [step, total] = [line.step, line.total_steps];
    return [[ms, ...(isNext ? [] : [line.type, ...fields])] as unknown as Recorded];
  });
}

/** The lines of a recorded run that begins at 0. */
export function lengthen({ lines }: RecordedRun): JournalLine[] {
  let [at, step, total] = [0, 0, 0];
  return lines.map(([ms, ...fields]) => {
    const [type, ...values] = fields.length === 0 ? ['metric', step + 1, total] : fields;
    if (type === 'metric') [step, total] = values as [number, number];
    at += ms;
    const named = names[type as string]?.map((name, index) => [name, values[index]]) ?? [];
    return {
      ...{ seq: 0, time: new Date(at).toISOString(), type },
      ...Object.fromEntries(named),
    } as unknown as JournalLine;
  });
}
