import * as v from 'valibot';
import {
  jsonSchemaFaults,
  type PlaygroundRequest,
  type SchemaFault,
} from '../../../domain/playground/playground.ts';
import { or } from '../schemas.ts';

/** The keys of a JSON pointer (RFC 6901). */
const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

type AddIssue = Parameters<Parameters<typeof v.rawCheck<object>>[0]>[0]['addIssue'];
type Path = NonNullable<Parameters<AddIssue>[0]>['path'];

/** Tells what a grammar cannot express of a schema. @param before the path to it from where the check is. */
export function addSchemaFaults(
  faults: readonly SchemaFault[],
  input: object,
  addIssue: AddIssue,
  before: readonly NonNullable<Path>[0][] = [],
): void {
  for (const { path, message } of faults) {
    const [first, ...others] = [
      ...before,
      ...keysOf(path).map((key) => ({
        type: 'unknown' as const,
        origin: 'value' as const,
        input,
        key,
        value: undefined,
      })),
    ];
    addIssue(first === undefined ? { message } : { message, path: [first, ...others] });
  }
}

const schema = v.pipe(
  v.looseObject({}),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed) addSchemaFaults(jsonSchemaFaults(dataset.value), dataset.value, addIssue);
  }),
);

/** A named schema. */
export const schemaFields = {
  name: v.pipe(
    v.string(),
    v.regex(/^[A-Za-z0-9_-]{1,64}$/, 'must have 1 to 64 letters, digits, underscores and hyphens'),
  ),
  description: or(v.string()),
  strict: or(v.boolean()),
  schema,
};

/** What an answer must be. With a schema it is always valid, as OpenAI's `strict` has it. */
export const responseFormat = v.variant('type', [
  v.strictObject({ type: v.literal('text') }),
  // With a schema as llama.cpp's server and instructor have it.
  v.strictObject({ type: v.literal('json_object'), schema: or(schema) }),
  v.strictObject({
    type: v.literal('json_schema'),
    json_schema: v.strictObject(schemaFields),
  }),
]);

/** The schema of such an answer; text has none. */
export function schemaOf(
  format: v.InferOutput<typeof responseFormat> | null | undefined,
): PlaygroundRequest['schema'] {
  if (format?.type === 'json_object') return format.schema ?? { type: 'object' };
  return format?.type === 'json_schema' ? format.json_schema.schema : undefined;
}
