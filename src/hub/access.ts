/** Access to the hub. The token is sent only to `endpoint`. */
export interface HubAccess {
  /** `http(s)://host[:port]`, without a slash at its end. */
  readonly endpoint: string;
  /** It may be replaced while the service runs. */
  readonly token: string | null;
  readonly offline: boolean;
  readonly patience: HubPatience;
  /** Aborts all requests through this access. */
  readonly signal?: AbortSignal;
}

/** Timeouts in milliseconds. */
export interface HubPatience {
  /** Time without data after which a request is aborted (`uploadFactor` times as long for uploads). */
  readonly timeoutMs: number;
  /** The wait before the second attempt; it doubles with each further one. */
  readonly backoffMs: number;
  /** Total wait between the attempts of one request; fails if the hub asks for more. */
  readonly waitMs: number;
}

/** Attempts of one request, the first included. */
export const attempts = 4;

/** Uploads and commits take longer, because the hub checks the data. */
export const uploadFactor = 6;

/** How a hub token is set, for messages. */
export const waysToSet = 'set it under Settings, or as HUB_TOKEN before Hone starts';

/** Removes the token from external text before it is shown, logged or stored. */
export function redact(access: HubAccess, text: string): string {
  return access.token === null ? text : text.replaceAll(access.token, '<HUB_TOKEN>');
}
