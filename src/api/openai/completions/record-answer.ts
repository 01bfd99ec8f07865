import type { Services } from '../../../domain/services.ts';
import { credentialsOf } from '../../../http/access/credentials.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { defaults } from './common-fields.ts';
import type { SentMessage } from './messages.ts';

/** What a request says of keeping its answer, and what a kept answer says of the request. */
interface Asked {
  readonly store?: boolean | null | undefined;
  readonly model: string;
  readonly metadata?: Readonly<Record<string, string>> | null | undefined;
  readonly messages: readonly SentMessage[];
  readonly user?: string | null | undefined;
  readonly tools?: readonly object[] | null | undefined;
  readonly tool_choice?: unknown;
  readonly response_format?: unknown;
  readonly temperature?: number | null | undefined;
  readonly top_p?: number | null | undefined;
  readonly seed?: number | null | undefined;
  readonly presence_penalty?: number | null | undefined;
  readonly frequency_penalty?: number | null | undefined;
}

/** The key whose answers a client sees; `undefined` for those of all. */
export const seenBy = ({ holder }: Exchange): string | undefined =>
  holder === null || holder.scope === 'full' ? undefined : holder.id;

/** What keeps the answers that clients, or the keys that they present, want to be kept. */
export function createRecorder({
  access,
  accessKeys,
  traffic,
}: Pick<Services, 'access' | 'accessKeys' | 'traffic'>) {
  /** Whose key a request presents, also where none is needed; `null` without one. */
  const holderOf = (exchange: Exchange) => {
    if (exchange.holder !== null) return exchange.holder;
    const { bearer } = credentialsOf((name) => exchange.header(name), access.cookieName);
    return bearer === null ? null : accessKeys.check(bearer);
  };
  /** @param answeredBy what the name of the request stands for. @returns what keeps the answer to this request, as a completion, or `undefined` if it is not to be kept. */
  return (asked: Asked, exchange: Exchange, answeredBy: string) => {
    const holder = asked.store === false ? null : holderOf(exchange);
    if (!(asked.store ?? holder?.recording)) return undefined;
    const began = performance.now();
    return (completion: { readonly id: string; readonly created: number }) =>
      traffic.record({
        id: completion.id,
        owner: holder?.id ?? null,
        model: asked.model,
        answeredBy: answeredBy,
        createdAt: completion.created,
        messages: asked.messages,
        metadata: asked.metadata ?? {},
        milliseconds: performance.now() - began,
        completion: { ...completion, ...askedOf(asked, exchange) },
      });
  };
}

/** The request of a kept answer, as OpenAI's reference has it. */
const askedOf = (asked: Asked, exchange: Exchange) => ({
  request_id: exchange.requestId,
  input_user: asked.user ?? null,
  tools: asked.tools ?? null,
  tool_choice: asked.tool_choice ?? null,
  response_format: asked.response_format ?? null,
  temperature: asked.temperature ?? defaults.temperature,
  top_p: asked.top_p ?? defaults.topP,
  seed: asked.seed ?? null,
  presence_penalty: asked.presence_penalty ?? 0,
  frequency_penalty: asked.frequency_penalty ?? 0,
  service_tier: 'default',
});
