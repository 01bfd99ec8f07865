import { setImmediate } from 'node:timers/promises';
import { createRowComparison, type LikeRows, type ValidationRows } from './compared-rows.ts';
import type { AnswerFilter, KeptAnswer, Traffic } from './traffic.ts';

/**
 * What rows are made of kept answers: `sft` learns what was said, or its correction; `preference` prefers a correction to
 * what was said; `kto` learns which answers were rated up, and which down.
 */
export const rowKinds = ['sft', 'preference', 'kto'] as const;
export type RowKind = (typeof rowKinds)[number];

/** Why no row was made of answers, as what follows their number. */
export const skipReasons = {
  no_correction: 'without a correction',
  unrated: 'without a rating',
  rated_down: 'rated down and not corrected',
  cut_off: 'cut off at max_tokens',
  no_text: 'empty, or equal to their correction',
  duplicate: 'the same as another',
  near_duplicate: 'nearly the same as another',
  overlap: 'with a question of the validation dataset',
} as const;
type SkipReason = keyof typeof skipReasons;
export type Skipped = Record<SkipReason, number>;
export const skipReasonNames = Object.keys(skipReasons) as SkipReason[];

/** A message as OpenAI has it; what it has beside is kept. */
interface Message {
  readonly role: string;
  readonly content?: string | readonly { readonly text: string }[] | null | undefined;
  readonly tool_calls?: readonly object[] | null | undefined;
}
interface Kept {
  readonly tools: readonly object[] | null;
  readonly choices: readonly { readonly message: Message; readonly finish_reason: string }[];
}

/** A message as rows have it: a text as its content, and no fields without a value. */
const asRow = ({ role, content, ...more }: Message) => ({
  role: role === 'developer' ? 'system' : role,
  content: Array.isArray(content) ? content.map(({ text }) => text).join('') : (content ?? null),
  ...Object.fromEntries(Object.entries(more).filter(([, value]) => value != null)),
});

/** The row of one answer, or why there is none. */
function rowOf(kind: RowKind, answer: KeptAnswer): object | SkipReason {
  const { tools, choices } = answer.completion as Kept;
  const [choice] = choices;
  const { correction } = answer;
  if (kind === 'preference' && correction === null) return 'no_correction';
  if (kind === 'kto' && answer.rating === null) return 'unrated';
  if (kind === 'sft' && correction === null && answer.rating === 'down') return 'rated_down';
  const isLearned = kind === 'sft' ? correction === null : kind === 'kto' && answer.rating === 'up';
  if (isLearned && choice?.finish_reason === 'length') return 'cut_off';
  const said = asRow(choice?.message ?? { role: 'assistant' });
  const isCall = (choice?.message.tool_calls ?? []).length > 0;
  const isEmpty = !said.content && !isCall;
  const prompt = (answer.messages as Message[]).map(asRow);
  const corrected = { role: 'assistant', content: correction };
  const origin = { completion_id: answer.id, model: answer.model };
  const offered = tools === null || tools.length === 0 ? undefined : tools;
  if (kind === 'sft') {
    if (correction === null && isEmpty) return 'no_text';
    const messages = [...prompt, correction === null ? said : corrected];
    return { messages, tools: offered, ...origin };
  }
  if (kind === 'kto') {
    if (isEmpty) return 'no_text';
    return { prompt, completion: [said], label: answer.rating === 'up', tools: offered, ...origin };
  }
  if (isEmpty || said.content === correction) return 'no_text';
  return { prompt, chosen: [corrected], rejected: [said], tools: offered, ...origin };
}

/** What becomes of rows that are like others. */
export interface Alike {
  readonly validation: ValidationRows | null;
  /** Whether rows that ask what the validation dataset does are made all the same. */
  readonly keepsOverlap: boolean;
  readonly keepsNear: boolean;
}

/** The rows of answers, and what was left out. */
export interface AnswerRows {
  readonly rows: object[];
  readonly skipped: Skipped;
  readonly near: LikeRows;
  readonly overlap: (LikeRows & { readonly dataset: string; readonly isWhole: boolean }) | null;
  /** Whether there are more answers than are read. */
  readonly isCapped: boolean;
}

/**
 * Collects rows of answers, each once.
 * @returns what takes answers, and what it made of them.
 */
function createAnswerRows(kind: RowKind, { validation, keepsOverlap, keepsNear }: Alike) {
  const seen = new Set<string>();
  const rows: object[] = [];
  const skipped = Object.fromEntries(skipReasonNames.map((reason) => [reason, 0])) as Skipped;
  const comparison = createRowComparison(validation);
  /** Why a row is not made; `null` if it is. */
  function refusal(id: string, row: Record<string, unknown>): SkipReason | null {
    const { completion_id: _id, model: _model, ...content } = row;
    const text = JSON.stringify(content);
    if (seen.has(text)) return 'duplicate';
    seen.add(text);
    if (comparison.isInValidation(id, row) && !keepsOverlap) return 'overlap';
    return comparison.isNear(id, row) && !keepsNear ? 'near_duplicate' : null;
  }
  return {
    rows,
    skipped,
    found: comparison.found,
    add(answer: KeptAnswer): void {
      const row = rowOf(kind, answer);
      const reason = typeof row === 'string' ? row : refusal(answer.id, row as Record<string, unknown>);
      if (reason !== null) skipped[reason] += 1;
      else rows.push(row as object);
    },
  };
}

/** As many answers are read at a time, and at most. */
const pageAnswers = 200;
const mostAnswers = 20_000;

/**
 * Makes rows of the kept answers that a filter has, the oldest first.
 * @param isOver whether nobody waits for them any longer.
 */
export async function rowsOfAnswers(
  traffic: Pick<Traffic, 'list'>,
  kind: RowKind,
  filter: Pick<AnswerFilter, 'model' | 'rating' | 'search' | 'metadata' | 'ids'>,
  isOver: () => boolean,
  alike: Alike = { validation: null, keepsOverlap: true, keepsNear: true },
): Promise<AnswerRows> {
  const { rows, skipped, add, found } = createAnswerRows(kind, alike);
  let after: string | undefined;
  let isCapped = false;
  for (let read = 0; read < mostAnswers; ) {
    // What is deleted meanwhile ends the list.
    const page = traffic.list({ ...filter, after, limit: pageAnswers, order: 'asc' });
    for (const answer of page?.answers ?? []) add(answer);
    read += page?.answers.length ?? 0;
    after = page?.answers.at(-1)?.id;
    isCapped = page?.hasMore ?? false;
    if (!isCapped || isOver()) break;
    await setImmediate();
  }
  return { rows, skipped, isCapped, ...found() };
}
