/** How the hub is reached. The token leaves this machine for `endpoint` alone. */
export interface HubAccess {
  /** `http(s)://host[:port]`, without a slash at its end. */
  readonly endpoint: string;
  readonly token: string | null;
  readonly offline: boolean;
  readonly patience: HubPatience;
  /** Gives up everything that is asked of the hub through this access. */
  readonly signal?: AbortSignal;
}

/** How long the hub is waited for, in milliseconds. */
export interface HubPatience {
  /** Silence after which a question is given up (an upload is given `uploadFactor` times as long). */
  readonly timeoutMs: number;
  /** The wait before the second attempt; it doubles with each further one. */
  readonly backoffMs: number;
  /** All waits between the attempts of one request, together; a hub that asks for more is not waited for. */
  readonly waitMs: number;
}

/** Attempts of one request, the first included. */
export const attempts = 4;

/** Storage and commits answer more slowly than questions: the hub checks what it was given. */
export const uploadFactor = 6;

/** Takes the token out of a text that came from elsewhere, before it is shown, logged or stored. */
export function redact(access: HubAccess, text: string): string {
  return access.token === null ? text : text.replaceAll(access.token, '<HUB_TOKEN>');
}
