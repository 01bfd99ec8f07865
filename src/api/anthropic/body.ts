import * as v from 'valibot';
import { toolName, toolNameRule } from '../../contract/rows.ts';
import { lengthBound, temperatureBound, topPBound } from '../../domain/playground/generation-bounds.ts';
import { jsonSchemaFaults } from '../../domain/playground/playground.ts';
import { textOr } from '../../http/parsing/text-or.ts';

const or = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
const notList = v.custom<object>((value) => !Array.isArray(value), 'must be an object');
const id = v.pipe(v.string(), v.minLength(1), v.maxLength(256));
const name = v.pipe(v.string(), v.regex(toolName, toolNameRule));

/** It marks what Anthropic keeps of a prompt; here that needs no mark. */
const marked = {
  cache_control: or(v.strictObject({ type: v.literal('ephemeral'), ttl: or(v.string()) })),
};
const textBlock = v.strictObject({
  type: v.literal('text'),
  text: v.string(),
  ...marked,
  citations: or(v.unknown()),
});
const only = (kinds: string) => (issue: v.BaseIssue<unknown>) =>
  `must be ${kinds}: content of the type ${issue.received} is not supported`;
const texts = (kinds: v.GenericSchema<unknown, v.InferOutput<typeof textBlock>>) =>
  textOr(v.array(kinds), 'must be a text or a list of text blocks');
const text = texts(v.variant('type', [textBlock], only('text')));

const block = v.variant(
  'type',
  [
    textBlock,
    v.strictObject({
      type: v.literal('tool_use'),
      id,
      name,
      ...marked,
      caller: or(v.unknown()),
      input: v.intersect([v.record(v.string(), v.unknown()), notList]),
    }),
    v.strictObject({
      type: v.literal('tool_result'),
      tool_use_id: id,
      ...marked,
      content: or(text),
      is_error: or(v.boolean()),
    }),
    v.strictObject({ type: v.literal('thinking'), thinking: v.string(), signature: or(v.string()) }),
    v.strictObject({ type: v.literal('redacted_thinking'), data: v.string() }),
  ],
  only('text, tool_use, tool_result or thinking'),
);
const message = v.strictObject({
  role: v.picklist(['user', 'assistant', 'system']),
  content: textOr(v.array(block), 'must be a text or a list of content blocks'),
});
export type SentMessage = v.InferOutput<typeof message>;

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const schema = v.custom<Record<string, unknown>>(isObject, 'must be a JSON schema');
/** What is wrong with a schema, or also what keeps answers from being held to it. */
const inSchema = (found: unknown, isHeld: boolean) => {
  const [fault] = jsonSchemaFaults(found).filter(({ isWrong }) => isWrong || isHeld);
  return fault === undefined ? '' : `${fault.path || 'the schema'} ${fault.message}`;
};
const tool = v.pipe(
  v.strictObject({
    type: or(
      v.literal(
        'custom',
        ({ received }) => `must be custom: tools of the type ${received} are Anthropic's, and not supported`,
      ),
    ),
    name,
    description: or(v.string()),
    input_schema: v.pipe(
      schema,
      v.check(({ type }) => type === 'object', 'must be a JSON schema of the type object'),
      v.check(({ properties = {} }) => isObject(properties), 'must have an object of schemas as properties'),
      v.check(
        ({ required }) =>
          required == null || (Array.isArray(required) && required.every((one) => typeof one === 'string')),
        'must have a list of names as required',
      ),
    ),
    strict: or(v.boolean()),
    ...marked,
    eager_input_streaming: or(v.boolean()),
    input_examples: or(v.array(v.unknown())),
  }),
  v.check(
    ({ strict, input_schema: found }) => inSchema(found, strict === true) === '',
    ({ input }) =>
      `has an input_schema that cannot be used: ${inSchema(input.input_schema, input.strict === true)}`,
  ),
);
/** As many as chat completions take. */
const mostTools = 1024;
const parallel = { disable_parallel_tool_use: or(v.boolean()) };
const effort = or(v.picklist(['low', 'medium', 'high', 'xhigh', 'max']));

/** What a prompt is made of. */
const prompt = {
  model: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(1024)),
  messages: v.pipe(v.array(message), v.minLength(1, 'must hold at least one message'), v.maxLength(10_000)),
  system: or(text),
  tools: or(
    v.pipe(
      v.array(tool),
      v.maxLength(mostTools, `must have at most ${mostTools} tools`),
      v.check(
        (all) => new Set(all.map((one) => one.name)).size === all.length,
        'must have names of their own',
      ),
    ),
  ),
  tool_choice: or(
    v.variant('type', [
      v.strictObject({ type: v.literal('auto'), ...parallel }),
      v.strictObject({ type: v.literal('any'), ...parallel }),
      v.strictObject({ type: v.literal('tool'), name, ...parallel }),
      v.strictObject({ type: v.literal('none') }),
    ]),
  ),
  /** `disabled` turns reasoning off where the template can, and the others turn it on. */
  thinking: or(
    v.variant('type', [
      v.strictObject({ type: v.literal('enabled'), budget_tokens: or(v.number()), display: or(v.string()) }),
      v.strictObject({ type: v.literal('adaptive'), display: or(v.string()) }),
      v.strictObject({ type: v.literal('disabled') }),
    ]),
  ),
  output_config: or(
    v.intersect([
      v.strictObject({
        effort,
        format: or(
          v.strictObject({
            type: v.literal('json_schema'),
            schema: v.pipe(
              schema,
              v.check(
                (found) => inSchema(found, true) === '',
                ({ input }) => inSchema(input, true),
              ),
            ),
          }),
        ),
      }),
      notList,
    ]),
  ),
  ...marked,
};
export type Prompt = v.InferOutput<v.ObjectSchema<typeof prompt, undefined>>;

const isChosen = ({ tools, tool_choice: choice }: Pick<Prompt, 'tools' | 'tool_choice'>) =>
  choice?.type === 'any'
    ? (tools ?? []).length > 0
    : choice?.type !== 'tool' || (tools ?? []).some((one) => one.name === choice.name);
const notChosen = 'must stand for a tool of tools: there is no such tool';

/** Whether the last message is the beginning of the answer. */
export const isBegun = (messages: readonly SentMessage[]): boolean => {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return false;
  return (
    (typeof last.content === 'string' ? [{ type: 'text', text: last.content }] : last.content).every(
      (one) => one.type !== 'tool_use',
    ) && last.content.length > 0
  );
};

export const countBody = v.pipe(
  v.strictObject(prompt),
  v.forward(v.partialCheck([['tools'], ['tool_choice']], isChosen, notChosen), ['tool_choice']),
);

const stop = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));
export const messageBody = v.pipe(
  v.strictObject({
    ...prompt,
    max_tokens: lengthBound,
    temperature: or(temperatureBound),
    top_p: or(topPBound),
    top_k: or(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000))),
    stop_sequences: or(v.pipe(v.array(stop), v.maxLength(256))),
    stream: or(v.boolean()),
    // Accepted, because they change no answer.
    metadata: or(v.intersect([v.record(v.string(), v.unknown()), notList])),
    service_tier: or(v.string()),
  }),
  v.forward(v.partialCheck([['tools'], ['tool_choice']], isChosen, notChosen), ['tool_choice']),
  v.forward(
    v.partialCheck(
      [['output_config'], ['messages']],
      ({ output_config: config, messages }) => config?.format == null || !isBegun(messages),
      'cannot have a format where the answer has begun',
    ),
    ['output_config'],
  ),
);
export type MessageBody = v.InferOutput<typeof messageBody>;
