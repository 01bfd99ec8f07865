import { toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { AppError } from '../errors.ts';
import { kindOf } from './error-reply.ts';
import { type Face, mayBeAbsent, type ResponseDoc, type Route } from './route.ts';

type Json = Record<string, unknown>;

/** A schema with its description in the document. */
export const about = <const S extends v.GenericSchema>(schema: S, text: string) =>
  v.pipe(schema, v.description(text));

/** A JSON schema; rules that it cannot express are left out. */
export function schemaOf(schema: v.GenericSchema): Json {
  const { $schema: _dialect, ...rest } = toJsonSchema(schema, {
    errorMode: 'ignore',
    typeMode: 'input',
  }) as Json;
  return rest;
}

/** A server-to-client WebSocket, which OpenAPI cannot describe. */
export interface SocketDoc {
  readonly path: string;
  readonly summary: string;
  readonly query: v.GenericSchema;
  /** The frames by name. */
  readonly frames: Readonly<Record<string, v.GenericSchema>>;
}

/**
 * Describes every route of the faces as an OpenAPI 3.1 document. Where two faces share a path (a model's id
 * in digits or not), the operation tells of both. The frames of the socket are among the component schemas,
 * and the extension `x-websocket` says where they come.
 */
export function buildOpenApi(
  faces: readonly Face[],
  info: { title: string; version: string },
  socket: SocketDoc,
  cookieName: string,
): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const face of faces) {
    for (const entry of face.routes) {
      const described = operation(entry, face);
      const path = entry.path.replaceAll(/:(digits|path)\}/g, '}');
      paths[path] ??= {};
      const operations = paths[path];
      const method = entry.method.toLowerCase();
      operations[method] = operations[method] ? merge(operations[method], described) : described;
    }
  }
  const schemas = Object.fromEntries(
    Object.entries(socket.frames).map(([name, schema]) => [name, schemaOf(schema)]),
  );
  return {
    openapi: '3.1.0',
    info,
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An access key (`hone key add`).' },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: cookieName,
          description: 'The session of a browser that has signed in with `POST /api/session`.',
        },
      },
    },
    'x-websocket': {
      path: socket.path,
      summary: socket.summary,
      query: schemaOf(socket.query),
      frames: { oneOf: Object.keys(schemas).map((name) => ({ $ref: `#/components/schemas/${name}` })) },
    },
  };
}

/** The responses that every route can give. */
function commonResponses(entry: Route, schema: v.GenericSchema): Record<number, ResponseDoc | undefined> {
  const sends = entry.body !== undefined || entry.upload === true;
  const isFree = entry.access === 'free';
  const refused: ResponseDoc = { description: 'Invalid request', schema };
  return {
    400: sends || entry.query !== undefined || entry.path.includes('{') ? refused : undefined,
    401: isFree
      ? undefined
      : { description: 'An access key is needed, or the one presented is not valid', schema },
    429: isFree
      ? undefined
      : {
          description: 'Too many wrong access keys came from this address, or too many requests wait',
          schema,
        },
    403: {
      description: `The Host header is not allowed, the request comes from another origin, the access key does not allow this${entry.paths === undefined ? '' : ', or the client may not name this path'}`,
      schema,
    },
    413: sends ? { description: 'The body exceeds the size limit', schema } : undefined,
    500: { description: 'Internal error', schema },
    503: { description: 'A required component is missing or busy', schema },
    507: entry.method === 'GET' ? undefined : { description: 'The disk is full', schema },
  };
}

function operation(entry: Route, face: Face): Json {
  const parameters: Json[] = [...entry.path.matchAll(/\{(\w+)(:digits)?(?::path)?\}/g)].map(
    ([, name, digits]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string', minLength: 1, pattern: digits ? '^[0-9]+$' : undefined },
    }),
  );
  if (entry.query !== undefined) {
    const { properties = {}, required = [] } = schemaOf(entry.query) as {
      properties?: Record<string, Json>;
      required?: string[];
    };
    for (const [name, schema] of Object.entries(properties)) {
      parameters.push({ name, in: 'query', required: required.includes(name), schema });
    }
  }
  return {
    tags: [entry.tag],
    summary: entry.summary,
    operationId: `${entry.tag}_${entry.method}_${entry.path.replace(/\W+/g, '_')}`.toLowerCase(),
    parameters,
    security: securityOf(entry),
    ...requestBody(entry),
    responses: Object.fromEntries(
      Object.entries({ ...commonResponses(entry, face.error), ...entry.responses }).flatMap(
        ([status, doc]) =>
          doc === undefined ? [] : [[status, response(withErrorExample(doc, Number(status), face))]],
      ),
    ),
  };
}

/**
 * What opens a route. `{}` is no credentials: clients on the same machine need none in the mode `auto`. Pages use
 * cookies, and sign in with keys of the scope `full`.
 */
const securityOf = ({ access }: Route): Json[] =>
  access === 'free' ? [] : [{}, { bearer: [] }, { cookie: [] }];

function requestBody(entry: Route): Json {
  const { upload, form, body, bodyExample } = entry;
  if (!upload && body === undefined) return {};
  const file = { type: 'string', contentMediaType: 'application/octet-stream' };
  const { properties = {}, required = [] } = (form === undefined ? {} : schemaOf(form)) as {
    properties?: Json;
    required?: string[];
  };
  const formSchema = {
    type: 'object',
    properties: { file, ...properties },
    required: ['file', ...required],
  };
  const content: Record<string, Json> = upload ? { 'multipart/form-data': { schema: formSchema } } : {};
  if (body !== undefined) content['application/json'] = { schema: schemaOf(body), example: bodyExample };
  return {
    requestBody: { required: upload === true || body === undefined || !mayBeAbsent(body), content },
  };
}

/** An error response with an example in the set's format. */
function withErrorExample(doc: ResponseDoc, status: number, face: Face): ResponseDoc {
  const kind = kindOf(status);
  if (kind === null || doc.example !== undefined) return doc;
  return { ...doc, example: JSON.parse(String(face.presentError(new AppError(kind, doc.description)).body)) };
}

function response(doc: ResponseDoc): Json {
  if (doc.schema === undefined && doc.contentType === undefined) return { description: doc.description };
  const { description, contentType = 'application/json', alternativeContentType, schema, eventSchema } = doc;
  const content: Record<string, Json> = {
    [contentType]: { schema: schema && schemaOf(schema), example: doc.example },
  };
  if (alternativeContentType !== undefined)
    content[alternativeContentType] = { 'x-event-schema': eventSchema && schemaOf(eventSchema) };
  return { description, content };
}

/** Merges two operations of one path: the summary of the first, the responses of both. */
function merge(first: Json, second: Json): Json {
  const responses = { ...(second.responses as Record<string, Json>) };
  for (const [status, doc] of Object.entries(first.responses as Record<string, Json>)) {
    const other = responses[status];
    responses[status] = other === undefined ? doc : either(doc, other);
  }
  const parameters = (first.parameters as Json[]).map((parameter) =>
    parameter.in === 'path' ? { ...parameter, schema: { type: 'string', minLength: 1 } } : parameter,
  );
  return {
    ...first,
    tags: [...(first.tags as string[]), ...(second.tags as string[])],
    parameters,
    responses,
  };
}

function either(first: Json, second: Json): Json {
  const media = [first, second].map(
    (doc) =>
      (doc.content as Record<string, { schema?: Json; example?: unknown }> | undefined)?.['application/json'],
  );
  const schemas = media.map((one) => one?.schema).filter((found) => found !== undefined);
  const names = ['string_id', 'integer_id'];
  const examples = Object.fromEntries(
    media.flatMap((one, index) =>
      one?.example === undefined ? [] : [[names[index] as string, { value: one.example }]],
    ),
  );
  return { ...first, content: { 'application/json': { schema: { anyOf: schemas }, examples } } };
}
