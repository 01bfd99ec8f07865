import { type RowShape, rowShapes } from '../../../../src/contract/rows.ts';

/** A field of a row as it is edited: a string as its text, everything else as JSON. */
export interface RowField {
  readonly name: string;
  readonly text: string;
  readonly isJson: boolean;
}

/** Keeps numbers as they are written, where the browser can (ECMAScript 2026): 64-bit IDs have more digits than a `number`. */
const asWritten = (_: string, value: unknown, context?: { readonly source?: string }): unknown => {
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  const isOther = typeof value === 'number' && String(value) !== context?.source;
  return isOther && context?.source !== undefined && rawJSON ? rawJSON(context.source) : value;
};

/** The fields of a row, and those that it should have; `null` if its text is no JSON object. */
export function fieldsOf(text: string, shape: RowShape | null): readonly RowField[] | null {
  let row: unknown;
  try {
    row = JSON.parse(text, asWritten as (key: string, value: unknown) => unknown);
  } catch {
    return null;
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return null;
  const there = Object.entries(row).map(([name, value]) =>
    typeof value === 'string'
      ? { name, text: value, isJson: false }
      : { name, text: JSON.stringify(value, null, 2), isJson: true },
  );
  const wanted = shape === null ? [] : rowShapes[shape].filter((name) => !Object.hasOwn(row, name));
  return [
    ...there,
    ...wanted.map((name) => ({ name, text: '', isJson: name === 'messages' || name === 'label' })),
  ];
}

/** The row as JSON on one line. @throws Error that names the field whose JSON cannot be read. */
export function rowTextOf(fields: readonly RowField[]): string {
  const parts = fields.map(({ name, text, isJson }) => {
    if (!isJson) return `${JSON.stringify(name)}: ${JSON.stringify(text)}`;
    try {
      JSON.parse(text);
    } catch (error) {
      throw new Error(`${name} is not valid JSON: ${(error as Error).message}`);
    }
    // Between the values of valid JSON alone there are line breaks.
    return `${JSON.stringify(name)}: ${text.replaceAll(/[\r\n]+\s*/g, ' ')}`;
  });
  return `{${parts.join(', ')}}`;
}
