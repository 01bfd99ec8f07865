import { createContext, runInContext } from 'node:vm';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** What a grammar does not hold, or not wholly. */
const unheld = new Set([
  ...[
    'not',
    'if',
    'oneOf',
    'allOf',
    'contains',
    'uniqueItems',
    'multipleOf',
    'minProperties',
    'maxProperties',
  ],
  ...['dependentRequired', 'dependentSchemas', 'dependencies', 'patternProperties', 'propertyNames'],
  ...['unevaluatedProperties', 'unevaluatedItems'],
]);
/** A pattern, or items that are compared with each other, may take for ever. */
const mostMs = 250;
const mostErrors = 20;

const hasUnheld = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  // A grammar follows a pattern or a length.
  ((('pattern' in value || 'format' in value) && ('minLength' in value || 'maxLength' in value)) ||
    Object.entries(value).some(([key, part]) => unheld.has(key) || hasUnheld(part)));

const options = {
  ...{ strict: false, allErrors: true, validateSchema: false, validateFormats: false },
  logger: false,
} as const;

function errorsOf(schema: Readonly<Record<string, unknown>>, value: unknown): string[] {
  const { $schema: _, ...own } = schema;
  // Up to draft 7, `items` may be a list.
  const Checker = JSON.stringify(own).includes('"items":[') ? Ajv : Ajv2020;
  const validate = new Checker(options).compile(own);
  if (validate(value)) return [];
  return (validate.errors ?? [])
    .slice(0, mostErrors)
    .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
}

/**
 * Where JSON of a schema's grammar breaks the schema all the same, as JSON pointers with what is wrong there. A schema that its
 * grammar holds whole is not looked at.
 */
export function schemaErrors(schema: Readonly<Record<string, unknown>>, value: unknown): string[] {
  if (!hasUnheld(schema)) return [];
  try {
    return runInContext('check()', createContext({ check: () => errorsOf(schema, value) }), {
      timeout: mostMs,
    });
  } catch (cause) {
    return [`/ could not be checked: ${cause instanceof Error ? cause.message : cause}`];
  }
}
