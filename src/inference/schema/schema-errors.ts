import { createContext, runInContext } from 'node:vm';
import type { Ajv } from 'ajv';

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
const mostTries = 8;
const mostErrors = 20;

const hasUnheld = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  // A grammar follows a pattern or a length.
  ((('pattern' in value || 'format' in value) && ('minLength' in value || 'maxLength' in value)) ||
    Object.entries(value).some(([key, part]) => unheld.has(key) || hasUnheld(part)));

const options = {
  strict: false,
  allErrors: true,
  validateSchema: false,
  validateFormats: false,
  logger: false,
} as const;

/** Makes checkers for a schema. Read when it is first needed, which the start of the service does not wait for. */
async function checkersFor(schema: object): Promise<() => Ajv> {
  // Up to draft 7, `items` may be a list.
  if (JSON.stringify(schema).includes('"items":[')) {
    const { Ajv } = await import('ajv');
    return () => new Ajv(options);
  }
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  return () => new Ajv2020(options);
}

function errorsOf(checker: Ajv, schema: object, value: unknown): string[] {
  const validate = checker.compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? [])
    .slice(0, mostErrors)
    .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
}

/**
 * Runs what may take for ever. On a busy machine the time may pass without any work: then it is run again.
 * @throws Error if it takes longer than `ms`.
 */
function within<T>(ms: number, work: () => T): T {
  const context = createContext({ work });
  for (let tries = 1; ; tries += 1) {
    const before = process.cpuUsage();
    try {
      return runInContext('work()', context, { timeout: ms });
    } catch (error) {
      const { user, system } = process.cpuUsage(before);
      const isLate = (error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
      if (!isLate || (user + system) / 1000 > ms / 2 || tries === mostTries) throw error;
    }
  }
}

/**
 * The place of the first value that breaks a schema, with how; `null` if none does.
 * @throws Error if it is no schema, or takes too long.
 */
export async function firstBroken(
  schema: Readonly<Record<string, unknown>>,
  values: readonly unknown[],
): Promise<{ readonly at: number; readonly errors: readonly string[] } | null> {
  const { $schema: _, ...given } = schema;
  const newChecker = await checkersFor(given);
  return within(mostMs + 2 * values.length, () => {
    const checker = newChecker();
    checker.compile(given);
    for (const [at, value] of values.entries()) {
      const errors = errorsOf(checker, given, value);
      if (errors.length > 0) return { at, errors };
    }
    return null;
  });
}

/**
 * Where JSON of a schema's grammar breaks the schema all the same, as JSON pointers with what is wrong there. A schema that its
 * grammar holds whole is not looked at.
 */
export async function schemaErrors(
  { $schema: _, ...schema }: Readonly<Record<string, unknown>>,
  value: unknown,
): Promise<string[]> {
  if (!hasUnheld(schema)) return [];
  const newChecker = await checkersFor(schema);
  try {
    return within(mostMs, () => errorsOf(newChecker(), schema, value));
  } catch (cause) {
    return [`/ could not be checked: ${cause instanceof Error ? cause.message : cause}`];
  }
}
