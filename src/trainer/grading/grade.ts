import * as v from 'valibot';
import { askTrainer } from '../ask.ts';
import type { TrainerCommand } from '../processes/supervisor.ts';

/** A row with the answer to it, as graders get it. */
export interface GradedRow {
  readonly item: Readonly<Record<string, unknown>>;
  readonly sample: {
    readonly output_text: string;
    readonly output_tools: readonly Readonly<Record<string, unknown>>[];
  };
}

/** What a grader makes of an answer. */
export const score = v.object({
  /** 0 where there is an error. */
  value: v.number(),
  /** The scores that a `multi` grader computes its own from. */
  parts: v.record(v.string(), v.number()),
  /** Why the row could not be scored. */
  error: v.nullable(v.string()),
  explanation: v.string(),
  /** What went wrong, by the names of OpenAI's flags; also that the answer lacks what the grader looks at. */
  kinds: v.array(v.string()),
});
export type Score = v.InferOutput<typeof score>;

const answer = v.object({
  faults: v.record(v.string(), v.string()),
  scores: v.array(v.record(v.string(), score)),
  /** What judges took, by model. */
  usage: v.record(v.string(), v.record(v.string(), v.number())),
});

/** Scores rows; `faults` says which definitions are wrong, and nothing is scored then. */
export function gradeRows(
  command: TrainerCommand,
  question: { readonly graders: Readonly<Record<string, unknown>>; readonly rows: readonly GradedRow[] },
  {
    folder,
    timeoutMs,
    signal,
  }: {
    readonly folder: string;
    /** `null` for as long as it takes. */
    readonly timeoutMs: number | null;
    readonly signal: AbortSignal;
  },
): Promise<v.InferOutput<typeof answer>> {
  const input = JSON.stringify(question);
  return askTrainer(command, {
    ...{ what: 'scores', args: ['grade'], input, answer, folder, secrets: null, timeoutMs, signal },
  });
}
