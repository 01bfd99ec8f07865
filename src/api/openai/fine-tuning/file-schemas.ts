import * as v from 'valibot';

/** The purposes of OpenAI's reference; only the first two are stored here. */
const purposes = ['fine-tune', 'evals', 'assistants', 'batch', 'vision', 'user_data'] as const;

const seconds = 'expires_after[seconds]';
/** The form of an upload, beside its part `file`. */
export const uploadForm = v.object({
  purpose: v.pipe(
    v.picklist(
      purposes,
      `must be "fine-tune" or "evals"; OpenAI's other purposes are ${purposes.slice(2).join(', ')}`,
    ),
    v.check(
      (purpose): purpose is 'fine-tune' | 'evals' => purpose === 'fine-tune' || purpose === 'evals',
      'must be "fine-tune" or "evals": files for assistants, batches and images are not supported',
    ),
  ),
  'expires_after[anchor]': v.optional(v.literal('created_at', 'must be "created_at"')),
  [seconds]: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,9}$/, 'must be a whole number of seconds'),
      v.transform(Number),
      v.minValue(3600, 'must be at least 3600 (one hour)'),
      v.maxValue(2_592_000, 'must be at most 2592000 (30 days)'),
    ),
  ),
});

/** @returns the number in a query, from 1 to `most`. */
export const limitOf = (most: number, standard: number) =>
  v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,9}$/, 'must be a whole number'),
      v.transform(Number),
      v.minValue(1, 'must be at least 1'),
      v.maxValue(most, `must be at most ${most}`),
    ),
    String(standard),
  );

export const fileQuery = v.object({
  after: v.optional(v.string()),
  limit: limitOf(10_000, 10_000),
  order: v.optional(v.picklist(['asc', 'desc']), 'desc'),
  purpose: v.optional(v.string()),
});

export const file = v.object({
  id: v.string(),
  object: v.literal('file'),
  bytes: v.number(),
  created_at: v.number(),
  expires_at: v.optional(v.number()),
  filename: v.string(),
  purpose: v.string(),
  status: v.picklist(['processed', 'error']),
  status_details: v.optional(v.string()),
});
export const files = v.object({
  object: v.literal('list'),
  data: v.array(file),
  first_id: v.nullable(v.string()),
  last_id: v.nullable(v.string()),
  has_more: v.boolean(),
});
export const deleted = v.object({ id: v.string(), object: v.string(), deleted: v.literal(true) });
