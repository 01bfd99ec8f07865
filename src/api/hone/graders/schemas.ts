import * as v from 'valibot';
import { graderBounds } from '../../../contract/graders/grader-types.ts';
import { graderDefinition } from '../../../domain/graders/grader-definition.ts';
import { score } from '../../../domain/graders/graders.ts';
import { notList } from '../common.ts';

export const grader = v.object({
  name: v.string(),
  /** As it was given, with the defaults of absent fields. */
  grader: graderDefinition,
  created_at: v.string(),
  updated_at: v.string(),
});
export const graderList = v.object({ graders: v.array(grader) });
export type Grader = v.InferOutput<typeof grader>;

const url = v.pipe(
  v.string(),
  v.trim(),
  v.minLength(1, 'must not be empty'),
  v.maxLength(2048),
  v.description('The base_url of graders, such as https://api.openai.com/v1.'),
);
export const judgeKey = v.strictObject({
  url,
  key: v.pipe(
    v.string(),
    v.trim(),
    v.minLength(1, 'must not be empty'),
    v.maxLength(4096),
    v.regex(/^[\x21-\x7e]*$/, 'must be a key, such as sk-…'),
  ),
});
export const judgeKeyQuery = v.object({ url });
export const judgeKeys = v.object({ urls: v.array(v.string()) });

const item = v.intersect([v.record(v.string(), v.unknown()), notList]);
const call = v.object({
  type: v.optional(v.literal('function'), 'function'),
  function: v.object({ name: v.string(), arguments: v.string() }),
});
/** A test of a grader on rows. */
export const graderTest = v.strictObject({
  grader: v.pipe(
    v.union([v.string(), graderDefinition]),
    v.description('A stored grader by its name, or a definition.'),
  ),
  rows: v.pipe(
    v.array(
      v.strictObject({
        item: v.pipe(item, v.description('The columns of the row.')),
        answer: v.pipe(v.optional(v.nullable(v.string())), v.description('Absent: the model is asked.')),
        tool_calls: v.pipe(
          v.optional(v.array(call), []),
          v.description('The calls of the answer, as in OpenAI’s chat completions.'),
        ),
      }),
    ),
    v.minLength(1, 'must have at least one row'),
    v.maxLength(graderBounds.testedRows, `must have at most ${graderBounds.testedRows} rows`),
  ),
  model: v.pipe(
    v.optional(v.nullable(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)))),
    v.description('The fine-tuned model that answers rows without an answer, by name or ID.'),
  ),
  max_tokens: v.optional(
    v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1), v.maxValue(4096)),
    256,
  ),
});
export const graderScores = v.object({
  results: v.array(v.object({ answer: v.string(), ...score.entries })),
  /** The mean of the scores, in which a row with an error counts as 0. */
  mean: v.number(),
  /** How many rows could not be scored. */
  errors: v.number(),
});
