import type * as v from 'valibot';
import type { KeptAnswer } from '../../../domain/traffic/traffic.ts';
import type * as s from './schemas.ts';

/** As much of a text as a list shows. */
const shownCharacters = 300;

interface Call {
  readonly id?: string | null | undefined;
  readonly function: { readonly name: string; readonly arguments: string };
}
/** A message as OpenAI has it. */
interface Message {
  readonly role: string;
  readonly content?: string | readonly { readonly text?: string }[] | null | undefined;
  readonly reasoning_content?: string | null | undefined;
  readonly tool_calls?: readonly Call[] | null | undefined;
  readonly tool_call_id?: string | null | undefined;
}
/** What of a completion is shown. */
interface Completion {
  readonly choices: readonly { readonly message: Message; readonly finish_reason: string }[];
  /** `null` if another service gave the answer without them. */
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly request_id: string;
  readonly temperature: number;
  readonly top_p: number;
  readonly seed: number | null;
  readonly tools: object[] | null;
  readonly response_format: unknown;
}

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');

const presentMessage = (message: Message): v.InferOutput<typeof s.message> => ({
  role: message.role === 'developer' ? 'system' : message.role,
  content: textOf(message),
  reasoning: message.reasoning_content ?? null,
  calls: (message.tool_calls ?? []).map(({ id, function: called }) => ({
    id: id ?? '',
    name: called.name,
    arguments: called.arguments,
  })),
  call_id: message.tool_call_id ?? null,
});

const nothing: Message = { role: 'assistant', content: '' };

/** What a list and a page both say of an answer. */
function presentAnswered({ id, createdAt, model, rating, milliseconds, completion }: KeptAnswer) {
  const { usage } = completion as Completion;
  return {
    id,
    created_at: new Date(createdAt * 1000).toISOString(),
    model,
    rating,
    milliseconds,
    prompt_tokens: usage?.prompt_tokens ?? 0,
    answer_tokens: usage?.completion_tokens ?? 0,
  };
}

/** An answer in a list: what was asked last, and how the answer begins. */
export function presentSummary(answer: KeptAnswer): v.InferOutput<typeof s.summary> {
  const messages = answer.messages as readonly Message[];
  const asked = messages.findLast(({ role }) => role === 'user') ?? messages.at(-1) ?? nothing;
  const said = (answer.completion as Completion).choices[0]?.message ?? nothing;
  const called = (said.tool_calls ?? []).map(({ function: { name } }) => name);
  return {
    ...presentAnswered(answer),
    question: textOf(asked).trim().slice(0, shownCharacters),
    answer: (textOf(said).trim() || called.join(', ')).slice(0, shownCharacters),
    corrected: answer.correction !== null,
  };
}

/** A whole answer. @param nameOf the name of a key by its ID; `null` if it was removed. */
export function presentDetail(
  answer: KeptAnswer,
  nameOf: (id: string) => string | null,
): v.InferOutput<typeof s.detail> {
  const { owner, messages, metadata, correction } = answer;
  const completion = answer.completion as Completion;
  const [choice] = completion.choices;
  return {
    ...presentAnswered(answer),
    correction,
    key: owner === null ? null : { id: owner, name: nameOf(owner) },
    messages: (messages as readonly Message[]).map(presentMessage),
    answer: presentMessage(choice?.message ?? nothing),
    finish_reason: choice?.finish_reason ?? 'stop',
    metadata,
    request: {
      id: completion.request_id,
      temperature: completion.temperature,
      top_p: completion.top_p,
      seed: completion.seed,
      tools: completion.tools,
      response_format: completion.response_format,
    },
  };
}
