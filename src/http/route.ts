import * as v from 'valibot';
import { AppError, type FieldIssue } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import { parseJson } from './parse-json.ts';
import { Reply } from './reply.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Schema = v.GenericSchema<unknown, unknown>;

/** What a status of a route means, and the shape of its body, for the OpenAPI document. */
export interface ResponseDoc {
  readonly description: string;
  readonly schema?: Schema;
  readonly contentType?: string;
  /** A further form of the same answer, where the request chooses it. */
  readonly alternativeContentType?: string;
  readonly example?: unknown;
}

/** A route with its types erased, as the router and the OpenAPI document see it. */
export interface Route {
  readonly method: Method;
  /** Segments `{name}` match anything, `{name:digits}` digits alone (and before the former). */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: Schema;
  /** One that accepts `undefined` lets the body be absent. */
  readonly body?: Schema;
  /** A body that is accepted, for the OpenAPI document. */
  readonly bodyExample?: unknown;
  /** The handler reads the body itself: a multipart upload with one part `file`. */
  readonly upload?: boolean;
  readonly responses: Readonly<Record<number, ResponseDoc>>;
  /** Returns the body of a 200 answer, a Reply, or `undefined` when it has streamed the answer itself. */
  readonly handle: (input: {
    readonly params: Readonly<Record<string, string>>;
    readonly query: never;
    readonly body: never;
    readonly exchange: Exchange;
  }) => unknown;
}

/** Describes a route; the types of `query` and `body` in its handler come from its schemas. */
export function route<Q extends Schema | undefined = undefined, B extends Schema | undefined = undefined>(
  options: Omit<Route, 'query' | 'body' | 'handle'> & {
    readonly query?: Q;
    readonly body?: B;
    readonly handle: (input: {
      readonly params: Readonly<Record<string, string>>;
      readonly query: Q extends Schema ? v.InferOutput<Q> : undefined;
      readonly body: B extends Schema ? v.InferOutput<B> : undefined;
      readonly exchange: Exchange;
    }) => unknown;
  },
): Route {
  return options as unknown as Route;
}

/** One API face: its routes, and how it spells an error. */
export interface Face {
  readonly name: string;
  readonly routes: readonly Route[];
  readonly presentError: (error: AppError) => Reply;
  /** The shape of what `presentError` says. */
  readonly error: Schema;
}

/** Parses and runs one request of a route. @throws AppError as the schemas and the handler do. */
export async function runRoute(
  entry: Route,
  params: Readonly<Record<string, string>>,
  exchange: Exchange,
  jsonLimitBytes: number,
): Promise<Reply | undefined> {
  const query =
    entry.query === undefined ? undefined : parse(entry.query, parseQuery(exchange.query), 'query');
  const body =
    entry.body === undefined
      ? undefined
      : parse(entry.body, await readJson(exchange, jsonLimitBytes, mayBeAbsent(entry.body)), 'body');
  const result = await entry.handle({ params, query: query as never, body: body as never, exchange });
  if (result instanceof Reply || result === undefined) return result;
  return Reply.json(200, result);
}

/** Whether a request may come without the body that its route reads. */
export const mayBeAbsent = (body: Schema): boolean => v.is(body, undefined);

function parse(schema: Schema, value: unknown, place: 'query' | 'body'): unknown {
  const result = v.safeParse(schema, value, { abortPipeEarly: true });
  if (result.success) return result.output;
  const issues = result.issues.map((issue) => toFieldIssue(issue, place));
  throw new AppError('invalid', issues.map((issue) => issue.msg).join('; '), { issues });
}

/** Puts a validation issue into the words of the wire: which field, what is wrong, and a short type. */
function toFieldIssue(issue: v.BaseIssue<unknown>, place: string): FieldIssue {
  const path = issue.path?.map((item) => String(item.key)) ?? [];
  const field = path.join('.');
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    return { loc: [place, ...path], msg: `Unknown field "${field}"`, type: 'extra_forbidden' };
  }
  if (issue.received === 'undefined' && issue.kind === 'schema') {
    return { loc: [place, ...path], msg: `Field "${field}" is required`, type: 'missing' };
  }
  // The library's own messages begin so; every other is one of ours.
  const said = issue.message.startsWith('Invalid ')
    ? `expected ${issue.expected ?? 'something else'}, received ${shorten(issue.received)}`
    : issue.message;
  return {
    loc: [place, ...path],
    msg: field === '' ? said : `Field "${field}": ${said}`,
    type: issue.kind === 'schema' ? `${issue.type}_type` : issue.type,
  };
}

const shorten = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

/** @throws AppError `invalid` for a parameter that is given twice: nobody knows which one is meant. */
function parseQuery(query: string): Record<string, string> {
  const parameters = new URLSearchParams(query);
  for (const name of new Set(parameters.keys())) {
    if (parameters.getAll(name).length === 1) continue;
    const msg = `Parameter "${shorten(name)}" is given twice`;
    throw new AppError('invalid', msg, {
      issues: [{ loc: ['query', name], msg, type: 'duplicate_key' }],
    });
  }
  return Object.fromEntries(parameters);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

async function readJson(exchange: Exchange, limitBytes: number, optional: boolean): Promise<unknown> {
  const body = await exchange.readBody(limitBytes);
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
  if (text.trim() === '') throw new AppError('invalid', 'The body is empty; a JSON object is expected.');
  return parseJson(text);
}
