import * as v from 'valibot';
import {
  answerTemplate,
  graderName,
  graderNameRule,
  lengthUnits,
  similarityMetrics,
  stringOperations,
} from '../../contract/graders/grader-types.ts';
import { templateFault } from '../../contract/graders/templates.ts';

/** Most characters of a template, and of Python. */
const mostCharacters = 256 * 1024;
const text = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(mostCharacters));
const template = v.pipe(
  v.string(),
  v.maxLength(mostCharacters),
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed ? templateFault(dataset.value) : null;
    if (fault !== null) addIssue({ message: fault });
  }),
);
/** valibot's objects and records also accept arrays. */
export const noArray = v.custom<object>((value) => !Array.isArray(value), 'must be an object');
/** Also what evals and jobs of OpenAI's have. */
const named = v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(256));
const share = v.pipe(v.number(), v.minValue(0, 'must be at least 0'), v.maxValue(1, 'must be at most 1'));
const least0 = v.pipe(v.number(), v.minValue(0, 'must be at least 0'));
const count = v.pipe(least0, v.integer('must be a whole number'));
const name = v.optional(named);
const input = v.optional(template, answerTemplate);

const part = v.strictObject({ type: v.picklist(['input_text', 'output_text', 'text']), text: template });
const message = v.strictObject({
  role: v.picklist(['system', 'developer', 'user', 'assistant']),
  content: v.union([template, part, v.array(part)]),
  type: v.optional(v.literal('message')),
});
const asked = {
  name,
  model: text,
  base_url: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.maxLength(2048),
        v.regex(
          /^https?:\/\/[^\s@?#]+$/,
          'must be an http:// or https:// address without a user name and a query',
        ),
      ),
    ),
    v.description(
      'A server with OpenAI’s chat completions, such as https://api.openai.com/v1. Absent: this service.',
    ),
  ),
  input: v.pipe(v.array(message), v.minLength(1, 'must have at least one message')),
  sampling_params: v.optional(
    v.intersect([
      v.strictObject({
        seed: v.optional(v.nullable(v.pipe(v.number(), v.integer('must be a whole number')))),
        top_p: v.optional(v.nullable(share)),
        temperature: v.optional(v.nullable(least0)),
        max_completions_tokens: v.optional(v.nullable(count)),
        max_tokens: v.optional(v.nullable(count)),
        reasoning_effort: v.optional(v.nullable(v.string())),
      }),
      noArray,
    ]),
  ),
};

const single = [
  v.strictObject({
    type: v.literal('string_check'),
    name,
    input: template,
    reference: template,
    operation: v.picklist(stringOperations),
  }),
  v.strictObject({
    type: v.literal('text_similarity'),
    name,
    input: template,
    reference: template,
    evaluation_metric: v.picklist(similarityMetrics),
    pass_threshold: v.optional(share),
  }),
  v.strictObject({
    type: v.literal('python'),
    name,
    source: text,
    image_tag: v.optional(v.string()),
    pass_threshold: v.optional(v.number()),
  }),
  v.strictObject({
    type: v.literal('score_model'),
    ...asked,
    range: v.optional(
      v.pipe(
        v.array(v.number()),
        v.length(2, 'must have two numbers'),
        v.check(([low = 0, high = 0]) => low < high, 'must have the smaller number first'),
      ),
      [0, 1],
    ),
    pass_threshold: v.optional(v.number()),
  }),
  v.pipe(
    v.strictObject({
      type: v.literal('label_model'),
      ...asked,
      labels: v.pipe(v.array(text), v.minLength(2, 'must have at least two labels')),
      passing_labels: v.pipe(v.array(text), v.minLength(1, 'must have at least one label')),
    }),
    v.check(
      ({ labels, passing_labels }) => passing_labels.every((label) => labels.includes(label)),
      'passing_labels must be some of labels',
    ),
  ),
  v.strictObject({
    type: v.literal('hone_json_schema'),
    name,
    input,
    schema: v.intersect([v.record(v.string(), v.unknown()), noArray]),
  }),
  v.strictObject({ type: v.literal('hone_json_equal'), name, input, reference: template }),
  v.strictObject({
    type: v.literal('hone_number'),
    name,
    input,
    reference: template,
    tolerance: v.optional(least0, 0),
    relative_tolerance: v.optional(least0, 0),
  }),
  v.strictObject({ type: v.literal('hone_math'), name, input, reference: template }),
  v.strictObject({ type: v.literal('hone_regex'), name, input, pattern: text }),
  v.pipe(
    v.strictObject({
      type: v.literal('hone_length'),
      name,
      input,
      unit: v.optional(v.picklist(lengthUnits), 'characters'),
      min: v.optional(count),
      max: v.optional(count),
    }),
    v.check(({ min, max }) => min !== undefined || max !== undefined, 'min or max must be set'),
    v.check(({ min = 0, max = min }) => min <= max, 'min must not be more than max'),
  ),
  v.strictObject({
    type: v.literal('hone_contains'),
    name,
    input,
    values: v.pipe(v.array(template), v.minLength(1, 'must have at least one text')),
    ignore_case: v.optional(v.boolean(), false),
  }),
] as const;

/** A name of a part that a formula can have. */
const variableName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z_]\w*$/, 'must be a letter followed by letters, digits and underscores'),
);
const multi = v.strictObject({
  type: v.literal('multi'),
  name,
  graders: v.pipe(
    v.record(variableName, v.variant('type', single)),
    v.check((parts) => Object.keys(parts).length > 0, 'must have at least one grader'),
  ),
  calculate_output: text,
});

/** A grader as a request gives it, in OpenAI's format (docs/graders.md). */
export const graderDefinition = v.variant('type', [...single, multi]);
export type GraderDefinition = v.InferOutput<typeof graderDefinition>;

/** A grader, or those that a `multi` one computes its score from. */
export const partsOf = (grader: GraderDefinition) =>
  grader.type === 'multi' ? Object.values(grader.graders) : [grader];

/** One that is stored needs a name. */
export const namedGrader = v.pipe(
  graderDefinition,
  v.check(({ name: given }) => given !== undefined, 'name must be set'),
  v.check(({ name: given = '' }) => graderName.test(given), `name ${graderNameRule}`),
);

/** An example request for the API description. */
export const graderExample = {
  type: 'string_check',
  name: 'right-label',
  input: '{{sample.output_text}}',
  reference: '{{item.output}}',
  operation: 'eq',
};
