import type { PlaygroundAnswer } from '../../../domain/playground/playground.ts';
import { defaults } from '../completions/common-fields.ts';
import type { ResponseBody } from './body.ts';
import { messagesFrom } from './conversation.ts';
import { type Item, idOf } from './items.ts';
import type { Response } from './schemas.ts';

const now = () => Math.floor(Date.now() / 1000);

/** A response that has no items yet: what was asked for. */
export function begunResponse(body: ResponseBody): Response {
  const { text, reasoning, tools } = body;
  const format = text?.format ?? { type: 'text' };
  return {
    id: idOf('resp'),
    object: 'response',
    created_at: now(),
    completed_at: null,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: body.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: null },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: 'default',
    store: body.store ?? true,
    temperature: body.temperature ?? defaults.temperature,
    text: {
      format:
        format.type === 'json_schema'
          ? { ...format, description: format.description ?? null, strict: true }
          : { type: format.type },
      verbosity: text?.verbosity ?? 'medium',
    },
    tool_choice: body.tool_choice ?? 'auto',
    tools: (tools ?? []).map(({ type, name, description, parameters, strict }) => ({
      type,
      name,
      description: description ?? null,
      parameters: parameters ?? null,
      strict: strict ?? false,
    })),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? defaults.topP,
    truncation: 'disabled',
    usage: null,
    user: body.user ?? null,
  };
}

/** A response as a chat completion, as which it is kept. */
export function completionOf({ id, created_at: created, model, output, status, usage }: Response) {
  const [message] = messagesFrom(null, output);
  const { reasoning_content: reasoning, tool_calls: calls } = message ?? {};
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: message?.content || null,
          refusal: null,
          reasoning_content: reasoning,
          tool_calls: calls,
        },
        logprobs: null,
        finish_reason: status === 'incomplete' ? 'length' : calls === undefined ? 'stop' : 'tool_calls',
      },
    ],
    usage: {
      prompt_tokens: usage?.input_tokens ?? 0,
      completion_tokens: usage?.output_tokens ?? 0,
      total_tokens: usage?.total_tokens ?? 0,
      prompt_tokens_details: { cached_tokens: usage?.input_tokens_details.cached_tokens ?? 0 },
    },
    system_fingerprint: 'hone',
  };
}

/** The characters of an item's text. */
const lengthOf = (one: Item): number => {
  if (one.type === 'function_call') return one.name.length + one.arguments.length;
  return one.type === 'function_call_output'
    ? 0
    : one.content.reduce((sum, { text }) => sum + text.length, 0);
};

/** How many of an answer's tokens are reasoning: nothing counts them, so their share of the text is told. */
function reasoningTokens(output: Response['output'], tokens: number): number {
  const lengths = output.map((one) => ({ isReasoning: one.type === 'reasoning', length: lengthOf(one) }));
  const all = lengths.reduce((sum, { length }) => sum + length, 0);
  const reasoning = lengths.reduce((sum, { isReasoning, length }) => sum + (isReasoning ? length : 0), 0);
  return all === 0 ? 0 : Math.round((tokens * reasoning) / all);
}

/** A response whose answer is complete, or as long as it may be. */
export function endedResponse(
  begun: Response,
  output: Response['output'],
  { finishReason, promptTokens, cachedTokens, generatedTokens, schemaErrors }: PlaygroundAnswer,
): Response {
  const isCut = finishReason === 'length';
  return {
    ...begun,
    completed_at: isCut ? null : now(),
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output,
    ...(schemaErrors === undefined ? {} : { schema_errors: [...schemaErrors] }),
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
      output_tokens: generatedTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens(output, generatedTokens) },
      total_tokens: promptTokens + generatedTokens,
    },
  };
}
