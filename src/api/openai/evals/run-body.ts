import * as v from 'valibot';
import { templateFault } from '../../../contract/graders/templates.ts';
import type { Asks } from '../../../domain/evals/asks.ts';
import { evalBounds, evalRow } from '../../../domain/fine-tuning/eval-files.ts';
import { lengthBound, temperatureBound, topPBound } from '../../../domain/playground/generation-bounds.ts';
import { defaults } from '../completions/common-fields.ts';
import { responseFormat, schemaOf } from '../completions/response-format.ts';
import { tools, toolUseOf } from '../completions/tools.ts';
import { metadata } from '../fine-tuning/job-schemas.ts';
import { effort, responseTools, schemaOfText, textFormat, toolsOf } from '../responses/body.ts';
import { modelName, notList, or } from '../schemas.ts';
import { elsewhere, objectName } from './schemas.ts';

const source = v.variant(
  'type',
  [
    v.strictObject({
      type: v.literal('file_content'),
      content: v.pipe(
        v.array(evalRow),
        v.minLength(1, 'must have at least one row'),
        v.maxLength(evalBounds.rows, `must have at most ${evalBounds.rows} rows`),
      ),
    }),
    v.strictObject({ type: v.literal('file_id'), id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)) }),
  ],
  elsewhere('file_content or file_id'),
);

const template = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed ? templateFault(dataset.value) : null;
    if (fault !== null) addIssue({ message: fault });
  }),
);
const part = v.strictObject({
  type: v.picklist(['input_text', 'output_text', 'text'], 'only text is supported'),
  text: template,
});
const inputMessages = v.variant('type', [
  v.strictObject({
    type: v.literal('template'),
    template: v.pipe(
      v.array(
        v.strictObject({
          role: v.picklist(['system', 'developer', 'user', 'assistant']),
          content: v.union([template, part, v.array(v.union([template, part]))]),
          type: v.optional(v.literal('message')),
        }),
      ),
      v.minLength(1, 'must have at least one message'),
    ),
  }),
  v.strictObject({
    type: v.literal('item_reference'),
    item_reference: v.pipe(
      v.string(),
      v.check(
        (reference) => reference.startsWith('item') && templateFault(`{{${reference}}}`) === null,
        'must name a column, such as item.messages',
      ),
    ),
  }),
]);

const sampling = {
  temperature: or(temperatureBound),
  top_p: or(topPBound),
  seed: or(v.pipe(v.number(), v.integer('must be a whole number'))),
  max_completion_tokens: or(lengthBound),
  /** An earlier name of it in OpenAI's guides. */
  max_completions_tokens: or(lengthBound),
  reasoning_effort: or(effort),
};
const common = { source, model: modelName, input_messages: inputMessages };
const completions = v.strictObject({
  type: v.literal('completions'),
  ...common,
  sampling_params: or(
    v.intersect([
      v.strictObject({ ...sampling, response_format: or(responseFormat), tools: or(tools) }),
      notList,
    ]),
  ),
});
const responses = v.strictObject({
  type: v.literal('responses'),
  ...common,
  sampling_params: or(
    v.intersect([
      v.strictObject({
        ...sampling,
        text: or(v.intersect([v.strictObject({ format: or(textFormat) }), notList])),
        tools: or(responseTools),
      }),
      notList,
    ]),
  ),
});

export const runBody = v.strictObject({
  name: or(objectName),
  metadata: or(metadata),
  data_source: v.variant('type', [
    v.strictObject({ type: v.literal('jsonl'), source }),
    completions,
    responses,
  ]),
});
type DataSource = v.InferOutput<typeof runBody>['data_source'];

/** How a run asks its model; `null` if its rows have answers. */
export function asksOf(given: DataSource): Asks | null {
  if (given.type === 'jsonl') return null;
  const { model, input_messages: messages, sampling_params: params } = given;
  const isChat = given.type === 'completions';
  return {
    model,
    messages: messages.type === 'template' ? messages.template : messages.item_reference,
    sampling: {
      maxTokens: params?.max_completion_tokens ?? params?.max_completions_tokens ?? defaults.maxTokens,
      temperature: params?.temperature ?? defaults.temperature,
      topP: params?.top_p ?? defaults.topP,
      seed: params?.seed ?? null,
      schema: isChat
        ? schemaOf(given.sampling_params?.response_format)
        : schemaOfText(given.sampling_params?.text?.format),
    },
    tools: toolUseOf(isChat ? (given.sampling_params ?? {}) : toolsOf(given.sampling_params ?? {})) ?? null,
    thinking: params?.reasoning_effort == null ? null : params.reasoning_effort !== 'none',
  };
}
