import * as v from 'valibot';
import { lengthBound, maximumLength, promptBound } from '../../../domain/playground/generation-bounds.ts';
import { maximumPromptBytes, type PlaygroundRequest } from '../../../domain/playground/playground.ts';
import { about } from '../../../http/openapi.ts';
import { metadata } from '../fine-tuning/job-schemas.ts';
import { notList, or, unsupported } from '../schemas.ts';
import { common, defaults, only, wholeBetween } from './common-fields.ts';
import { isBegun, messages } from './messages.ts';
import { responseFormat } from './response-format.ts';
import { hasChosen, toolChoice, tools } from './tools.ts';

/** A list of what is not supported: an empty one changes nothing. */
const none = (what: string) =>
  or(v.pipe(v.array(v.unknown()), v.empty(`${what} not supported; leave it out`)));
/** Evaluation programs send this many prompts in one request, and more. */
const mostPrompts = 128;

/** llama.cpp's tokens are 32-bit numbers. */
const mostTokenId = 2 ** 31 - 1;

/** Whether all answers together keep to the bound of one. */
const fits = (body: {
  readonly n?: number | null | undefined;
  readonly max_tokens?: number | null | undefined;
  readonly max_completion_tokens?: number | null | undefined;
}) => (body.n ?? 1) * (body.max_completion_tokens ?? body.max_tokens ?? defaults.maxTokens) <= maximumLength;
const tooMuch = `n times the most tokens of an answer must be at most ${maximumLength}`;

export const chatBody = v.pipe(
  v.strictObject({
    ...common,
    as_base: about(or(v.boolean()), "Hone's own field: answer with the base model."),
    messages,
    max_tokens: about(or(lengthBound), `The most tokens of an answer. Default: ${defaults.maxTokens}.`),
    max_completion_tokens: or(lengthBound),
    logprobs: or(v.boolean()),
    top_logprobs: or(wholeBetween(0, 20)),
    response_format: or(responseFormat),
    store: about(or(v.boolean()), 'Keeps the request and its answer, for GET /v1/chat/completions.'),
    metadata: or(metadata),
    // Accepted, because they change no answer.
    service_tier: or(v.string()),
    parallel_tool_calls: or(v.boolean()),
    safety_identifier: or(v.string()),
    prompt_cache_key: or(v.string()),
    prompt_cache_retention: or(v.string()),
    modalities: or(v.array(v.literal('text', 'only text is supported'))),
    tools: or(tools),
    tool_choice: or(toolChoice),
    functions: none('functions are'),
    function_call: or(v.picklist(['none', 'auto'], 'must be none or auto: functions are not supported')),
    audio: unsupported('audio is'),
    prediction: unsupported('predicted answers are'),
    reasoning_effort: about(
      or(v.picklist(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])),
      'none turns reasoning off where the template can, and any other effort turns it on.',
    ),
    /** As vLLM and llama.cpp have it; it goes before `reasoning_effort`. */
    chat_template_kwargs: or(v.intersect([v.strictObject({ enable_thinking: or(v.boolean()) }), notList])),
    /** As vLLM has it: the last message is the beginning of the answer, which goes on from there. */
    continue_final_message: or(v.boolean()),
    verbosity: or(v.picklist(['low', 'medium', 'high'])),
    web_search_options: unsupported('web search is'),
  }),
  v.forward(v.partialCheck([['n'], ['max_tokens'], ['max_completion_tokens']], fits, tooMuch), ['n']),
  v.forward(
    v.partialCheck(
      [['messages'], ['continue_final_message']],
      ({ messages, continue_final_message: continues }) => !continues || isBegun(messages.at(-1)),
      'needs an answer that has begun as the last of messages',
    ),
    ['continue_final_message'],
  ),
  v.forward(
    v.partialCheck(
      [['continue_final_message'], ['response_format']],
      ({ continue_final_message: continues, response_format: format }) =>
        !continues || (format?.type ?? 'text') === 'text',
      'must be text with continue_final_message: a format holds from the beginning of an answer',
    ),
    ['response_format'],
  ),
  v.forward(
    v.partialCheck(
      [['tools'], ['tool_choice']],
      hasChosen,
      'must be none or auto, or stand for a tool of tools: there is no such tool',
    ),
    ['tool_choice'],
  ),
  v.forward(
    v.partialCheck(
      [['logprobs'], ['top_logprobs']],
      ({ logprobs, top_logprobs: top }) => top == null || logprobs === true,
      'needs logprobs to be true',
    ),
    ['top_logprobs'],
  ),
);

const prompts = <const P extends v.GenericSchema>(prompt: P) =>
  v.pipe(
    v.array(prompt),
    v.minLength(1, 'must not be empty'),
    v.maxLength(mostPrompts, `must hold at most ${mostPrompts} prompts`),
  );
const tokenIds = v.pipe(
  v.array(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(mostTokenId))),
  v.minLength(1, 'must not be empty'),
  v.maxLength(maximumLength, `must hold at most ${maximumLength} tokens`),
);

export const completionBody = v.pipe(
  v.strictObject({
    ...common,
    /** With 0, only the log-probabilities of the prompt are told, with `echo`. */
    max_tokens: or(wholeBetween(0, maximumLength)),
    prompt: v.union(
      [promptBound, prompts(promptBound), tokenIds, prompts(tokenIds)],
      `must be a text, a list of token IDs, or a list of up to ${mostPrompts} of either, none of them empty`,
    ),
    logprobs: or(wholeBetween(0, 5)),
    best_of: only(1, 'must be 1: answers are not chosen among others'),
    echo: or(v.boolean()),
    suffix: or(v.pipe(v.string(), v.maxBytes(maximumPromptBytes))),
  }),
  v.forward(
    v.partialCheck(
      [['suffix'], ['echo']],
      ({ suffix, echo }) => suffix == null || !echo,
      'cannot be combined with echo',
    ),
    ['suffix'],
  ),
  v.forward(
    v.partialCheck(
      [['suffix'], ['prompt']],
      ({ suffix, prompt }) => suffix == null || typeof [prompt].flat()[0] === 'string',
      'needs a prompt that is text',
    ),
    ['suffix'],
  ),
  v.forward(v.partialCheck([['n'], ['max_tokens']], fits, tooMuch), ['n']),
);

/** The prompts of a request, which may be one text or list of token IDs, or a list of them. */
export function promptsOf({ prompt, suffix }: CompletionBody): PromptInput[] {
  if (typeof prompt === 'string') return [textInput(prompt, suffix)];
  if (typeof prompt[0] === 'number') return [{ kind: 'tokens', tokens: prompt as number[] }];
  return (prompt as (string | number[])[]).map((one) =>
    typeof one === 'string' ? textInput(one, suffix) : { kind: 'tokens', tokens: one },
  );
}

type PromptInput = Exclude<PlaygroundRequest['input'], { kind: 'messages' }>;
const textInput = (text: string, suffix: string | null | undefined): PromptInput => ({
  kind: 'text',
  text,
  suffix: suffix ?? undefined,
});

export type ChatBody = v.InferOutput<typeof chatBody>;
export type CompletionBody = v.InferOutput<typeof completionBody>;
