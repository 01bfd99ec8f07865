/** The types of all routes, from the service's route tables; type-only imports, so nothing is bundled. */
import type * as v from 'valibot';
import type { createFinetuneFace } from '../../src/api/finetune/face.ts';
import type { createFlatFace } from '../../src/api/flat/face.ts';
import type { createHoneFace } from '../../src/api/hone/face.ts';
import type { createOpenAiFace } from '../../src/api/openai/face.ts';
import type { PathParams } from '../../src/http/route.ts';

type AnyRoute = ReturnType<
  typeof createFinetuneFace | typeof createFlatFace | typeof createHoneFace | typeof createOpenAiFace
>['routes'][number];
type Routes = { readonly [R in AnyRoute as `${R['method']} ${R['path']}`]: R };
type Schema = v.GenericSchema<unknown, unknown>;
type Plain<T> = { readonly [K in keyof T]: T[K] };

/** A route by its method and path, as `GET /api/jobs/{job_id}`. */
export type RouteKey = keyof Routes;

/** The fields of a query as strings, except for numbers. */
type QueryInput<S extends Schema> =
  v.InferOutput<S> extends infer Out
    ? {
        readonly [K in keyof v.InferInput<S>]: K extends keyof Out
          ? Out[K] extends number
            ? number
            : v.InferInput<S>[K]
          : never;
      }
    : never;

type PathPart<R extends AnyRoute> = R['path'] extends `${string}{${string}`
  ? { readonly path: Plain<PathParams<R['path']>> }
  : unknown;
type QueryPart<R> = R extends { readonly query: infer S extends Schema }
  ? Partial<v.InferInput<S>> extends v.InferInput<S>
    ? { readonly query?: QueryInput<S> | undefined }
    : { readonly query: QueryInput<S> }
  : unknown;
type BodyPart<R> = R extends { readonly body: infer S extends Schema }
  ? undefined extends v.InferInput<S>
    ? { readonly body?: v.InferInput<S> }
    : { readonly body: v.InferInput<S> }
  : unknown;

/** The input of a route: `path`, `query` and `body`, if any. */
export type Input<K extends RouteKey> = Plain<
  PathPart<Routes[K]> & QueryPart<Routes[K]> & BodyPart<Routes[K]>
>;
/** The request body of a route. */
export type Body<K extends RouteKey> = Routes[K] extends { readonly body: infer S extends Schema }
  ? v.InferInput<S>
  : never;

/** The data of an event in a streamed response. */
export type StreamEvent<K extends RouteKey> = Routes[K]['responses'] extends {
  readonly 200: { readonly eventSchema: infer S extends Schema };
}
  ? v.InferOutput<S>
  : never;

/** The body of a successful response: from its schema, or text; `never` for a file or page. */
export type Answer<K extends RouteKey> = Routes[K]['responses'] extends { readonly 200: infer Doc }
  ? Doc extends { readonly schema: infer S extends Schema }
    ? v.InferOutput<S>
    : Doc extends { readonly contentType: 'text/plain' }
      ? string
      : never
  : never;
