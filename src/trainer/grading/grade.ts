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

/** Two answers to a request. */
export interface AnswerPair {
  readonly request: string;
  readonly first: string;
  readonly second: string;
}

const pairsAnswer = v.object({
  fault: v.nullable(v.string()),
  /** How often each answer is better, and the share of pairs in which the judge agrees with itself in both orders. */
  summary: v.object({ first: v.number(), second: v.number(), tie: v.number(), agreement: v.number() }),
  pairs: v.array(
    v.object({
      /** null where the judge could not say, for the reason in `explanation`; a tie, too, where its choices differ. */
      better: v.nullable(v.picklist(['first', 'second', 'tie'])),
      consistent: v.nullable(v.boolean()),
      explanation: v.string(),
    }),
  ),
});
export const judgedPairs = v.omit(pairsAnswer, ['fault']);
export type JudgedPairs = v.InferOutput<typeof judgedPairs>;

const answer = v.object({
  faults: v.record(v.string(), v.string()),
  scores: v.array(v.record(v.string(), score)),
  /** What judges took, by model. */
  usage: v.record(v.string(), v.record(v.string(), v.number())),
});

interface Asking {
  readonly folder: string;
  /** `null` for as long as it takes. */
  readonly timeoutMs: number | null;
  readonly signal: AbortSignal;
}

/** Asks a judge for the better answer of each pair, in both orders; `fault` says what is wrong with the judge. */
export function judgePairs(
  command: TrainerCommand,
  question: { readonly judge: Readonly<Record<string, unknown>>; readonly pairs: readonly AnswerPair[] },
  asking: Asking,
): Promise<v.InferOutput<typeof pairsAnswer>> {
  const input = JSON.stringify(question);
  const answer = pairsAnswer;
  return askTrainer(command, {
    what: 'preferences',
    args: ['grade'],
    input,
    answer,
    secrets: null,
    ...asking,
  });
}

/** Scores rows; `faults` says which definitions are wrong, and nothing is scored then. */
export function gradeRows(
  command: TrainerCommand,
  question: { readonly graders: Readonly<Record<string, unknown>>; readonly rows: readonly GradedRow[] },
  asking: Asking,
): Promise<v.InferOutput<typeof answer>> {
  const input = JSON.stringify(question);
  return askTrainer(command, { what: 'scores', args: ['grade'], input, answer, secrets: null, ...asking });
}
