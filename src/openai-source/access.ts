/** Access to OpenAI's API, or to another service that speaks it. The key is sent only to `baseUrl`. */
export interface OpenAiAccess {
  /** Such as `https://api.openai.com/v1`, without a slash at its end. */
  readonly baseUrl: string;
  readonly key: string;
  readonly patience: OpenAiPatience;
  /** Aborts all requests through this access. */
  readonly signal: AbortSignal;
}

/** Timeouts in milliseconds. */
export interface OpenAiPatience {
  /** Time without data after which a request is aborted. */
  readonly timeoutMs: number;
  /** The wait before the second attempt; it doubles with each further one. */
  readonly backoffMs: number;
  /** Total wait between the attempts of one request; fails if more is asked for. */
  readonly waitMs: number;
}

/**
 * Why a request failed, as `details.code` of its AppError. `missing` and `refused` are for one object, the others for all
 * requests.
 */
export const openAiFailures = [
  'unauthorized',
  'forbidden',
  'missing',
  'refused',
  'rate_limited',
  'unreachable',
  'upstream',
] as const;
export type OpenAiFailure = (typeof openAiFailures)[number];

/** Removes the key from text before it is shown or stored. */
export const redact = ({ key }: OpenAiAccess, text: string): string => text.replaceAll(key, '<API key>');
