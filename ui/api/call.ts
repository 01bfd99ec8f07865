import { send } from './request.ts';
import type { Answer, Input, RouteKey } from './routes.ts';

type Options<K extends RouteKey> = Input<K> & {
  readonly signal?: AbortSignal | undefined;
  readonly keepalive?: boolean;
};
/** Optional if a route needs no input. */
type MayBeAbsent<T> = Partial<T> extends T ? [options?: T] : [options: T];

/** The untyped parts of a call. */
interface Parts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly keepalive?: boolean;
}

/**
 * Calls a route and returns the body of a successful response.
 * @param key its method and path, as `GET /api/jobs/{job_id}`.
 * @throws ServiceError for an error response or none; the reason of `signal` if aborted.
 */
export async function call<K extends RouteKey>(
  key: K,
  ...options: MayBeAbsent<Options<K>>
): Promise<Answer<K>> {
  const response = await open(key, ...options);
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return (isJson ? response.json() : response.text()) as Promise<Answer<K>>;
}

/** Like `call`, but resolves with the response, whose body is unread. */
export function open<K extends RouteKey>(key: K, ...[options]: MayBeAbsent<Options<K>>): Promise<Response> {
  const { body, signal, keepalive = false } = (options ?? {}) as Parts;
  return send(pathTo(key, options ?? {}), {
    method: key.slice(0, key.indexOf(' ')),
    body,
    signal,
    keepalive,
  });
}

/** The path of a route with its parameters and query filled in. */
export function pathOf<K extends RouteKey>(key: K, ...[input]: MayBeAbsent<Omit<Input<K>, 'body'>>): string {
  return pathTo(key, input ?? {});
}

function pathTo(key: RouteKey, { path = {}, query = {} }: Parts): string {
  const filled = key
    .slice(key.indexOf(' ') + 1)
    .replace(/\{(\w+)(?::digits)?\}/g, (_, name: string) => encodeURIComponent(path[name] as string));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}
