import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import * as v from 'valibot';
import { AppError, type FieldIssue } from '../errors.ts';
import type { Area, PathKind } from './access/gate.ts';
import type { Exchange } from './exchange.ts';
import { accept, type MoreFaults, parseInput, refuseWith } from './parsing/parse-input.ts';
import { parseJson } from './parsing/parse-json.ts';
import { Reply } from './reply.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Schema = v.GenericSchema<unknown, unknown>;

/** The parameters of a path by name: those of `/api/jobs/{job_id}` are `{ job_id: string }`. */
export type PathParams<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? {
      readonly [N in Name extends `${infer Bare}:${'digits' | 'path'}` ? Bare : Name]: string;
    } & PathParams<Rest>
  : unknown;

/** What a status of a route means, and the shape of its body, for the OpenAPI document. */
export interface ResponseDoc {
  readonly description: string;
  readonly schema?: Schema;
  readonly contentType?: string;
  /** An alternative content type that the request can choose. */
  readonly alternativeContentType?: string;
  /** The data of each event, if that is an event stream. */
  readonly eventSchema?: Schema;
  readonly example?: unknown;
}

/** A route with its types erased, as the router and the OpenAPI document see it. */
export interface Route {
  readonly method: Method;
  /**
   * Segments `{name}` match anything, `{name:digits}` digits alone (and before the former), and a last `{name:path}` the
   * rest of the path with its slashes.
   */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** Who may use it, where keys are needed: everyone, or also keys for inference. Default: full keys alone. */
  readonly access?: 'free' | Area;
  /** The fields of the body and the query that may name a file or folder of this machine. */
  readonly paths?: Readonly<Record<string, PathKind>>;
  readonly query?: Schema;
  /** One that accepts `undefined` lets the body be absent. */
  readonly body?: Schema;
  /** A body that is accepted, for the OpenAPI document. */
  readonly bodyExample?: unknown;
  /**
   * Further errors in the valid fields of a body that the schema rejects, reported together with the schema's errors.
   */
  readonly moreFaults?: MoreFaults;
  /**
   * Answers requests that another service is to judge, by their body as it came. Returns as `handle` does, or `null` for
   * those that are to be parsed.
   */
  readonly passOn?: (value: unknown, exchange: Exchange) => object | null;
  /** The handler reads the body itself: a multipart upload with one part `file`. With `body`, JSON can come instead. */
  readonly upload?: boolean;
  /** The fields of that form beside the file, for the OpenAPI document. */
  readonly form?: Schema;
  readonly responses: Readonly<Record<number, ResponseDoc>>;
  /** Returns the body of a 200 answer, a Reply, or `undefined` when it has streamed the answer itself. */
  readonly handle: (input: {
    readonly params: never;
    readonly query: never;
    readonly body: never;
    readonly exchange: Exchange;
  }) => unknown;
}

/** A route whose type has its request and response, for type-checked clients. */
export type TypedRoute<M, P, Q, B, R> = Route & {
  readonly method: M;
  readonly path: P;
  readonly responses: R;
} & (Q extends Schema ? { readonly query: Q } : unknown) &
  (B extends Schema ? { readonly body: B } : unknown);

/** A read-only body, so that objects of the domain need not be copied. */
type Kept<T> = T extends readonly (infer E)[]
  ? readonly Kept<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Kept<T[K]> }
    : T;
/** What a handler may return: the body of the 200 response, a Reply, or nothing if it streamed. */
type Returned<R> =
  | Reply
  | undefined
  | (R extends { readonly 200: { readonly schema: infer S extends Schema } } ? Kept<v.InferInput<S>> : never);

/** Defines a route; its handler's types come from its path and schemas. */
export function route<
  const M extends Method,
  const P extends string,
  const R extends Route['responses'],
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(
  options: Omit<Route, 'method' | 'path' | 'query' | 'body' | 'responses' | 'moreFaults' | 'handle'> & {
    readonly method: M;
    readonly path: P;
    readonly query?: Q;
    readonly body?: B;
    readonly responses: R;
    readonly moreFaults?: (
      fields: B extends Schema ? Partial<v.InferOutput<B>> : never,
      refused: ReadonlySet<string>,
    ) => Promise<readonly FieldIssue[]>;
    readonly handle: (input: {
      readonly params: PathParams<P>;
      readonly query: Q extends Schema ? v.InferOutput<Q> : undefined;
      readonly body: B extends Schema ? v.InferOutput<B> : undefined;
      readonly exchange: Exchange;
    }) => Returned<R> | Promise<Returned<R>>;
  },
): TypedRoute<M, P, Q, B, R> {
  return options as unknown as TypedRoute<M, P, Q, B, R>;
}

/**
 * Adds an example response to each route for the OpenAPI document.
 * @param examples by method and path, as `GET /api/health`.
 * @throws Error if an example has no route.
 */
export function withExamples<R extends Route>(
  routes: readonly R[],
  examples: Readonly<Record<string, unknown>>,
): R[] {
  const unused = new Set(Object.keys(examples));
  const exemplified = routes.map((entry) => {
    const key = `${entry.method} ${entry.path}`;
    const status = entry.responses[200] === undefined ? 202 : 200;
    const answer = entry.responses[status];
    if (answer === undefined || !unused.delete(key)) return entry;
    return { ...entry, responses: { ...entry.responses, [status]: { ...answer, example: examples[key] } } };
  });
  if (unused.size > 0) throw new Error(`There is no route for the examples ${[...unused].join(', ')}`);
  return exemplified;
}

/** One API set: its routes and its error format. */
export interface Face {
  readonly name: string;
  /** Unknown paths below it get this set's errors, and clients that left it out are told. */
  readonly root?: string;
  /** Whether each response has an `x-request-id`. */
  readonly requestIds?: boolean;
  readonly routes: readonly Route[];
  readonly presentError: (error: AppError) => Reply;
  /** The shape of what `presentError` says. */
  readonly error: Schema;
}

type Answer = Reply | undefined;
/** @throws AppError `forbidden` when the client may not name this file or folder. */
type CheckPath = (kind: PathKind, text: string) => void;

/**
 * Parses and runs a request; a synchronous handler is answered without a promise.
 * @throws AppError as the schemas and the handler do.
 */
export function runRoute(
  entry: Route,
  params: Readonly<Record<string, string>>,
  exchange: Exchange,
  jsonLimitBytes: number,
  checkPath: CheckPath,
): Answer | Promise<Answer> {
  const parameters = entry.query === undefined ? undefined : parseQuery(exchange.query);
  checkPaths(entry, parameters, checkPath);
  const query = entry.query === undefined ? undefined : accept(parseInput(entry.query, parameters, 'query'));
  const handle = (body: unknown) =>
    entry.handle({ params: params as never, query: query as never, body: body as never, exchange });
  const { body } = entry;
  const isForm = entry.upload && /^multipart\//i.test(exchange.header('content-type') ?? '');
  const coding = contentCoding(exchange);
  if (coding !== null && (isForm || (body !== undefined && coding !== 'gzip')))
    throw unsupportedCoding(coding);
  const result =
    body === undefined || isForm
      ? handle(undefined)
      : readJson(exchange, jsonLimitBytes, mayBeAbsent(body)).then((value) => {
          // Before anything looks at the file.
          checkPaths(entry, value, checkPath);
          const passed = entry.passOn?.(value, exchange) ?? null;
          if (passed !== null) return passed;
          const parsed = parseInput(body, value, 'body');
          return 'issues' in parsed && entry.moreFaults !== undefined
            ? refuseWith(parsed.issues, entry.moreFaults, body, value)
            : handle(accept(parsed));
        });
  return result instanceof Promise ? result.then(toAnswer) : toAnswer(result);
}

function checkPaths({ paths }: Route, values: unknown, check: CheckPath): void {
  if (paths === undefined || typeof values !== 'object' || values === null) return;
  for (const [name, kind] of Object.entries(paths)) {
    const value = (values as Record<string, unknown>)[name];
    if (typeof value === 'string') check(kind, value);
  }
}

const toAnswer = (result: unknown): Answer =>
  result instanceof Reply || result === undefined ? result : Reply.json(200, result);

/** Whether a request may come without the body that its route reads. */
export const mayBeAbsent = (body: Schema): boolean => v.is(body, undefined);

/** @throws AppError `invalid` for a parameter that is given twice, which is ambiguous. */
function parseQuery(query: string): Record<string, string> {
  const parameters = new URLSearchParams(query);
  for (const name of new Set(parameters.keys())) {
    if (parameters.getAll(name).length === 1) continue;
    const msg = `Parameter "${shorten(name)}" was given more than once`;
    throw new AppError('invalid', msg, {
      issues: [{ loc: ['query', name], msg, type: 'duplicate_key' }],
    });
  }
  return Object.fromEntries(parameters);
}

const shorten = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

const utf8 = new TextDecoder('utf-8', { fatal: true });

const gunzipWithin = promisify(gunzip);

/** The coding of the request's body (RFC 9110, section 8.4), or `null` for none. */
function contentCoding(exchange: Exchange): string | null {
  const coding = (exchange.header('content-encoding') ?? 'identity').trim().toLowerCase().replace(/^x-/, '');
  return coding === 'identity' ? null : coding;
}

const unsupportedCoding = (coding: string) =>
  new AppError(
    'invalid',
    `This request body cannot have the content-encoding ${shorten(coding)}; send it without. JSON may also be gzip.`,
    { details: { status: 415 } },
  );

/** @throws AppError `too_large` for a body that expands to more than `limitBytes`, `invalid` for one that is not gzip. */
async function expand(body: Buffer, limitBytes: number): Promise<Buffer> {
  try {
    return await gunzipWithin(body, { maxOutputLength: limitBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new AppError('too_large', `The expanded body may have at most ${limitBytes} bytes.`, { cause });
    throw new AppError('invalid', 'The body is not valid gzip, as its content-encoding says.', { cause });
  }
}

async function readJson(exchange: Exchange, limitBytes: number, optional: boolean): Promise<unknown> {
  const isZipped = contentCoding(exchange) === 'gzip';
  const sent = await exchange.readBody(limitBytes);
  const body = isZipped ? await expand(sent, limitBytes) : sent;
  if (optional && body.length === 0) return undefined;
  const contentType = exchange.header('content-type');
  if (contentType !== undefined && !/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)) {
    throw new AppError(
      'invalid',
      `The body must be JSON (content-type application/json), not ${shorten(contentType)}.`,
    );
  }
  let text: string;
  try {
    text = utf8.decode(body);
  } catch (error) {
    throw new AppError('invalid', 'The body is not valid UTF-8.', { cause: error });
  }
  if (text.trim() === '') throw new AppError('invalid', 'The body is empty; expected a JSON object.');
  const value = parseJson(text);
  // valibot's objects also accept arrays.
  if (Array.isArray(value)) throw new AppError('invalid', 'The body must be a JSON object, not an array.');
  return value;
}
