import * as v from 'valibot';
import { AppError, type FieldIssue, inSentences } from '../../errors.ts';

type Schema = v.GenericSchema<unknown, unknown>;

/** Finds what is wrong beyond the schema with the fields that it accepts; `refused` names the others. */
export type MoreFaults = (fields: never, refused: ReadonlySet<string>) => Promise<readonly FieldIssue[]>;

/** The result of parsing an input. */
export type Parsed = { readonly output: unknown } | { readonly issues: readonly FieldIssue[] };

/** More errors than this are only counted, to bound the response. */
const toldFaults = 100;

/** Parses a value with a schema, or collects all errors. */
export function parseInput(schema: Schema, value: unknown, place: 'query' | 'body'): Parsed {
  const result = v.safeParse(schema, value);
  if (result.success) return { output: result.output };
  const issues = result.issues.flatMap((issue) => {
    // The library reports only the first unknown field of an object.
    const isUnknown = isUnknownField(issue) && issue.path?.length === 1;
    return isUnknown ? unknownFields(schema, value, place) : [toFieldIssue(issue, place)];
  });
  return { issues };
}

/** @throws AppError `invalid` with all errors. */
export function accept(parsed: Parsed): unknown {
  if ('output' in parsed) return parsed.output;
  const { issues } = parsed;
  const left = issues.length - toldFaults;
  const told =
    left <= 0
      ? issues
      : [
          ...issues.slice(0, toldFaults),
          { loc: issues[0]?.loc.slice(0, 1) ?? [], msg: `${left} more errors`, type: 'more' },
        ];
  throw new AppError('invalid', inSentences(told.map(({ msg }) => msg)), { issues: told });
}

/** Rejects a body with the schema's errors and what else the route finds wrong with the valid fields. */
export async function refuseWith(
  issues: readonly FieldIssue[],
  moreFaults: MoreFaults,
  schema: Schema,
  value: unknown,
): Promise<never> {
  const entries = entriesOf(schema);
  if (entries === null || typeof value !== 'object' || value === null) return accept({ issues }) as never;
  const fields: Record<string, unknown> = {};
  const refused = new Set<string>();
  for (const [name, entry] of Object.entries(entries)) {
    const given = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    const result = v.safeParse(entry, given);
    if (!result.success) refused.add(name);
    else if (given !== undefined) fields[name] = result.output;
  }
  const more = await moreFaults(fields as never, refused);
  return accept({ issues: [...issues, ...more] }) as never;
}

/** The fields of an object schema, even if optional; `null` for other schemas. */
function entriesOf(schema: Schema): Readonly<Record<string, Schema>> | null {
  const { entries, wrapped } = schema as { entries?: Record<string, Schema>; wrapped?: Schema };
  return entries ?? (wrapped === undefined ? null : entriesOf(wrapped));
}

const isUnknownField = (issue: v.BaseIssue<unknown>) =>
  issue.type === 'strict_object' && issue.expected === 'never';

function unknownFields(schema: Schema, value: unknown, place: string): FieldIssue[] {
  const known = entriesOf(schema) ?? {};
  return Object.keys(value as object)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => unknownField([name], place));
}

const unknownField = (path: readonly string[], place: string): FieldIssue => ({
  loc: [place, ...path],
  msg: `Unknown field "${shorten(path.join('.'))}"`,
  type: 'extra_forbidden',
});

/** Converts a validation issue to the wire format: field, message and type. */
function toFieldIssue(issue: v.BaseIssue<unknown>, place: string): FieldIssue {
  const path = issue.path?.map((item) => String(item.key)) ?? [];
  const field = path.join('.');
  if (isUnknownField(issue)) return unknownField(path, place);
  if (issue.received === 'undefined' && issue.kind === 'schema') {
    return { loc: [place, ...path], msg: `Field "${field}" is required`, type: 'missing' };
  }
  // The library's own messages start like this; all others are ours.
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
