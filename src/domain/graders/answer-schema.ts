import * as v from 'valibot';
import { jsonSchemaFaults, type SchemaFault } from '../../inference/schema/read-schema.ts';

/** The keys of a JSON pointer (RFC 6901). */
const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

type AddIssue = Parameters<Parameters<typeof v.rawCheck<object>>[0]>[0]['addIssue'];
type Path = NonNullable<Parameters<AddIssue>[0]>['path'];

/** Tells faults of a schema. @param before the path to it from where the check is. */
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

/** A JSON schema that answers can be held to. */
export const answerSchema = v.pipe(
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
  description: v.optional(v.nullable(v.string())),
  strict: v.optional(v.nullable(v.boolean())),
  schema: answerSchema,
};

/** Such an answer, in the terms of OpenAI's `response_format`. */
export const jsonSchemaFormat = v.strictObject({
  type: v.literal('json_schema'),
  json_schema: v.strictObject(schemaFields),
});
