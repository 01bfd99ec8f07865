import * as v from 'valibot';
import { schemaFields } from '../../../domain/graders/answer-schema.ts';
import { lengthBound } from '../../../domain/playground/generation-bounds.ts';
import { textOr } from '../../../http/parsing/text-or.ts';
import { common, only, wholeBetween } from '../completions/common-fields.ts';
import { responseFormat, schemaOf } from '../completions/response-format.ts';
import {
  type Asked,
  checkParameters,
  functionFields,
  functionName,
  hasChosen,
  listOfTools,
} from '../completions/tools.ts';
import { metadata } from '../fine-tuning/job-schemas.ts';
import { notList, or, unsupported } from '../schemas.ts';
import { inputItem } from './items.ts';

const { n: _choices, stream_options: _usage, ...fields } = common;

const tool = v.pipe(
  v.strictObject({
    type: v.literal(
      'function',
      ({ received }) =>
        `must be function: tools of the type ${received} run at OpenAI, and are not supported`,
    ),
    ...functionFields,
  }),
  checkParameters(),
);
/** The tools that a response may call. */
export const responseTools = listOfTools(tool, ({ name }) => name);
const toolChoice = v.union(
  [
    v.picklist(['none', 'auto', 'required']),
    v.strictObject({ type: v.literal('function'), name: functionName }),
  ],
  'must be none, auto, required or {"type": "function", "name": …}',
);
const [text, jsonObject] = responseFormat.options;
/** The format of a response's text. */
export const textFormat = v.variant('type', [
  text,
  jsonObject,
  v.strictObject({ type: v.literal('json_schema'), ...schemaFields }),
]);

/** `none` turns reasoning off where the template can, and any other effort turns it on. */
export const effort = v.picklist(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

const included = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const;

/** What of a request is said of tools, in the form of chat completions. */
export function toolsOf(body: Partial<Pick<Sent, 'tools' | 'tool_choice' | 'parallel_tool_calls'>>): Asked {
  const { tools, tool_choice: choice } = body;
  return {
    tools: tools?.map(({ type, ...given }) => ({ type, function: given })),
    tool_choice:
      choice == null || typeof choice === 'string'
        ? choice
        : { type: 'function', function: { name: choice.name } },
    parallel_tool_calls: body.parallel_tool_calls,
  };
}

/** The schema of such an answer; text has none. */
export const schemaOfText = (format: v.InferOutput<typeof textFormat> | null | undefined) =>
  schemaOf(format?.type === 'json_schema' ? { type: format.type, json_schema: format } : format);

const sent = v.strictObject({
  ...fields,
  /** Hone's own field: answer with the base model. */
  as_base: or(v.boolean()),
  input: textOr(
    v.pipe(v.array(inputItem), v.minLength(1, 'must hold at least one item'), v.maxLength(10_000)),
    'must be a text or a list of items',
  ),
  instructions: or(v.string()),
  previous_response_id: or(v.string()),
  max_output_tokens: or(lengthBound),
  tools: or(responseTools),
  tool_choice: or(toolChoice),
  parallel_tool_calls: or(v.boolean()),
  text: or(
    v.intersect([
      v.strictObject({ format: or(textFormat), verbosity: or(v.picklist(['low', 'medium', 'high'])) }),
      notList,
    ]),
  ),
  reasoning: or(
    v.intersect([
      v.strictObject({
        effort: or(effort),
        summary: or(v.string()),
        generate_summary: or(v.string()),
        context: or(v.string()),
        mode: or(v.string()),
      }),
      notList,
    ]),
  ),
  store: or(v.boolean()),
  metadata: or(metadata),
  include: or(v.array(v.picklist(included))),
  top_logprobs: or(wholeBetween(0, 20)),
  stream_options: or(v.intersect([v.strictObject({ include_obfuscation: or(v.boolean()) }), notList])),
  background: only(false, 'must be false: answers are given while the client waits'),
  truncation: only('disabled', 'must be disabled: no item is left out to make room'),
  conversation: unsupported('conversations are'),
  prompt: unsupported('stored prompts are'),
  context_management: unsupported('a management of the context is'),
  moderation: unsupported('moderation is'),
  // Accepted, because they change no answer.
  max_tool_calls: or(
    v.pipe(v.number(), v.integer('must be a whole number'), v.minValue(1, 'must be at least 1')),
  ),
  service_tier: or(v.string()),
  safety_identifier: or(v.string()),
  prompt_cache_key: or(v.string()),
  prompt_cache_retention: or(v.string()),
  prompt_cache_options: or(v.intersect([v.record(v.string(), v.unknown()), notList])),
});
type Sent = v.InferOutput<typeof sent>;

export const responseBody = v.pipe(
  sent,
  v.forward(
    v.partialCheck(
      [['tools'], ['tool_choice']],
      (body) => hasChosen(toolsOf(body)),
      'must be none or auto, or stand for a tool of tools: there is no such tool',
    ),
    ['tool_choice'],
  ),
);
export type ResponseBody = v.InferOutput<typeof responseBody>;
