import * as v from 'valibot';
import { ratingFilterRule, ratingFilters, ratings } from '../../../contract/graders/feedback.ts';
import { rowKinds, skipReasonNames, type skipReasons } from '../../../domain/traffic/answer-rows.ts';
import { errorBody, notList } from '../common.ts';
import { wholeNumber } from '../whole-number.ts';

/** As many answers are chosen by their IDs at most. */
const mostIds = 1_000;
const mostListed = 200;

const text = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024));
const filter = {
  model: v.optional(text),
  rating: v.optional(v.picklist(ratingFilters, ratingFilterRule)),
  /** Words of the messages or the answer. */
  search: v.optional(v.pipe(v.string(), v.maxLength(200))),
};

export const listQuery = v.strictObject({
  ...filter,
  /** The ID of the last answer of the page before. */
  after: v.optional(text),
  limit: wholeNumber(50, mostListed, 'The most answers.'),
});

const keepOrLeave = v.picklist(['keep', 'leave_out'], 'must be keep or leave_out');

/** Which answers become rows, and of what kind. */
export const rowsBody = v.strictObject({
  kind: v.picklist(rowKinds, `must be one of ${rowKinds.join(', ')}`),
  ...filter,
  metadata: v.optional(v.intersect([v.record(v.string(), v.string()), notList])),
  /** Only these answers. */
  ids: v.optional(v.pipe(v.array(text), v.maxLength(mostIds, `must be at most ${mostIds}`))),
  /** Rows that are nearly the same as an earlier one: 0.8 of their runs of eight characters. */
  near_duplicates: v.optional(keepOrLeave, 'keep'),
  /** A dataset whose questions are looked for in the rows. */
  validation_dataset: v.optional(text),
  /** Rows that ask what the validation dataset does. */
  overlap: v.optional(keepOrLeave, 'leave_out'),
  /** Replace personal data by its kind, such as <EMAIL_ADDRESS>; needs `hone mask add`. */
  mask: v.optional(v.boolean(), false),
});

const count = v.number();
/** Numbers of answers that no row is made of, by their reasons. */
export const skipped = v.object(
  Object.fromEntries(skipReasonNames.map((reason) => [reason, count])) as Record<
    keyof typeof skipReasons,
    typeof count
  >,
);
/** Rows that are like others, whether they are left out or not. */
const like = {
  rows: count,
  /** Those that they were compared with; memory is bounded. */
  compared_rows: count,
  examples: v.array(
    v.object({
      completion_id: v.string(),
      /** The beginning of what was compared, without the system prompt. */
      text: v.string(),
      like: v.string(),
      similarity: count,
    }),
  ),
};
/** What rows are like, of all that would be made. */
export const alike = {
  near_duplicates: v.object(like),
  /** `null` without a validation dataset. */
  overlap: v.nullable(
    v.object({
      dataset: v.string(),
      ...like,
      /** Whether all rows of that dataset were compared. */
      complete: v.boolean(),
    }),
  ),
  /** Whether there are more answers than the oldest 20,000, of which rows are made. */
  capped: v.boolean(),
};
/** What is masked; `null` if nothing was to be. */
export const masked = v.nullable(
  v.object({
    /** How many rows were looked at: all when rows are made, the first ones when they are counted. */
    rows: count,
    /** How many values of each kind. */
    found: v.record(v.string(), count),
    /** Whether names of people and places are found, which needs a language model. */
    names: v.boolean(),
    /** The beginnings of texts, as they were and as they are. */
    examples: v.array(v.object({ before: v.string(), after: v.string() })),
  }),
);
export const noMasking = {
  description: 'Rows are to be masked, and Presidio is not installed',
  schema: errorBody,
};
export const rowCounts = v.object({ rows: count, skipped, ...alike, masked });

const answered = {
  id: v.string(),
  created_at: v.string(),
  /** As the request named it. */
  model: v.string(),
  rating: v.nullable(v.picklist(ratings)),
  /** From the request to the end of the answer. */
  milliseconds: count,
  prompt_tokens: count,
  answer_tokens: count,
};
export const summary = v.object({
  ...answered,
  /** The beginning of the last message of the user. */
  question: v.string(),
  /** The beginning of the answer, or the names of the functions that it calls. */
  answer: v.string(),
  corrected: v.boolean(),
});
export const list = v.object({ answers: v.array(summary), has_more: v.boolean() });

export const message = v.object({
  role: v.string(),
  content: v.string(),
  /** What the model wrote before it. */
  reasoning: v.nullable(v.string()),
  calls: v.array(v.object({ id: v.string(), name: v.string(), arguments: v.string() })),
  /** The call whose result it is. */
  call_id: v.nullable(v.string()),
});
export const detail = v.object({
  ...answered,
  correction: v.nullable(v.string()),
  /** The key that asked; `null` without one. It has no name if it was removed. */
  key: v.nullable(v.object({ id: v.string(), name: v.nullable(v.string()) })),
  messages: v.array(message),
  answer: message,
  /** `stop`, `length` or `tool_calls`. */
  finish_reason: v.string(),
  metadata: v.record(v.string(), v.string()),
  /** What else the request said. */
  request: v.object({
    id: v.string(),
    temperature: count,
    top_p: count,
    seed: v.nullable(count),
    tools: v.nullable(v.array(v.unknown())),
    response_format: v.unknown(),
  }),
});

export const kept = v.object({
  answers: count,
  size_bytes: count,
  /** How many answers there are under each name, the most first. */
  models: v.array(v.object({ value: v.string(), count })),
  /** For how long they are kept. */
  days: count,
  /** Beyond that, the oldest go. */
  limit_bytes: count,
});
