import {
  type SamplingField,
  type SamplingName,
  samplingNames,
  samplingParameters,
} from '../../../contract/sampling.ts';
import type { PlaygroundRequest } from '../../../domain/playground/playground.ts';
import type { Services } from '../../../domain/services.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { type CommonFields, defaults } from './common-fields.ts';
import type { SentMessage } from './messages.ts';

/** The sampling parameters of a request by their names inside the service. */
const samplingOf = (body: { readonly [F in SamplingField]?: number | null | undefined }) =>
  Object.fromEntries(
    samplingNames.map((name) => [name, body[samplingParameters[name].field] ?? undefined]),
  ) as { readonly [N in SamplingName]: number | undefined };

/** What all requests of a conversation begin with: the first user message, or the texts of its parts. */
export function conversationOf(messages: readonly { readonly role: string; readonly content?: unknown }[]) {
  const content = messages.find(({ role }) => role === 'user')?.content;
  return JSON.stringify(Array.isArray(content) ? content.map((part) => Object(part).text) : content);
}

/** What makes a request of the fields that all of them have; its input and the rest are up to the caller. */
export function createRequestOf(references: Services['modelReferences']) {
  /** A checkpoint is also found by its own name, and by that of its job, which may have no model yet. */
  const modelOf = (
    { model, checkpoint }: { model: string; checkpoint?: number | null | undefined },
    conversation?: string,
  ) => (checkpoint == null ? references.resolve(model, conversation) : { model, checkpoint });

  return (
    body: CommonFields,
    maxTokens: number | null | undefined,
    exchange: Exchange,
    messages?: readonly SentMessage[],
  ): Omit<PlaygroundRequest, 'input'> => ({
    ...modelOf(body, messages === undefined ? undefined : conversationOf(messages)),
    maxTokens: maxTokens ?? defaults.maxTokens,
    temperature: body.temperature ?? defaults.temperature,
    topP: body.top_p ?? defaults.topP,
    caller: exchange.peer.address,
    seed: body.seed,
    stop: body.stop == null ? undefined : [body.stop].flat(),
    ignoreEos: body.ignore_eos ?? undefined,
    cache: body.cache ?? undefined,
    ...samplingOf(body),
    logitBias: (body.logit_bias ?? undefined) as Record<string, number> | undefined,
    scale: body.scale ?? undefined,
    blend: body.blend == null ? undefined : { ...modelOf(body.blend), scale: body.blend.scale ?? undefined },
    file: body.file ?? undefined,
  });
}
