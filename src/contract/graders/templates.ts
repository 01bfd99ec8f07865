/** `{{…}}` in a text. */
const variable = /\{\{\s*([\s\S]*?)\s*\}\}/g;
/** A namespace and at least one step: `.name`, `[0]` or `['a name']` (trainer/grading/template.py). */
const written = /^(item|sample)((?:\.[^.[\]\s]+|\[-?\d+\]|\["[^"]*"\]|\['[^']*'\])+)$/;
const step = /\.([^.[\]\s]+)|\[(-?\d+)\]|\["([^"]*)"\]|\['([^']*)'\]/g;
const firstStep = /^(?:\.([^.[\]\s]+)|\[["']?(.*?)["']?\])/;
const sampleFields: readonly string[] = ['output_text', 'output_json', 'output_tools', 'choices'];

/** What is wrong with the variables of a template, or `null`. */
export function templateFault(template: string): string | null {
  for (const [whole, inner = ''] of template.matchAll(variable)) {
    const [, namespace, steps = ''] = written.exec(inner) ?? [];
    if (namespace === undefined)
      return `${whole} is no variable: write {{item.COLUMN}} or {{sample.output_text}}`;
    if (namespace === 'sample' && !sampleFields.includes(nameOf(steps)))
      return `${whole}: a sample has ${sampleFields.join(', ')}`;
  }
  return null;
}

function nameOf(steps: string): string {
  const [, plain, quoted] = firstStep.exec(steps) ?? [];
  return plain ?? quoted ?? '';
}

/** The columns, or the parts of the sample, that the texts anywhere in a grader name. */
export function columnsOf(grader: unknown, of: 'item' | 'sample' = 'item'): string[] {
  if (typeof grader === 'string')
    return [...grader.matchAll(variable)].flatMap(([, inner = '']) => {
      const [, namespace, steps = ''] = written.exec(inner) ?? [];
      return namespace === of ? [nameOf(steps)] : [];
    });
  if (typeof grader !== 'object' || grader === null) return [];
  // The source of Python and a schema are no templates.
  const parts = Object.entries(grader).filter(([name]) => name !== 'source' && name !== 'schema');
  return [...new Set(parts.flatMap(([, part]) => columnsOf(part, of)))];
}

/** The value that a reference such as `item.a[0]` stands for; `undefined` if the row has none. */
export function referredBy(reference: string, item: Readonly<Record<string, unknown>>): unknown {
  const [, namespace, steps = ''] = written.exec(reference) ?? [];
  if (namespace !== 'item') return undefined;
  let value: unknown = item;
  for (const [, name, place, ...quoted] of steps.matchAll(step)) {
    const key = name ?? place ?? quoted.find((one) => one !== undefined) ?? '';
    if (Array.isArray(value)) value = /^-?\d+$/.test(key) ? value.at(Number(key)) : undefined;
    else if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    else value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** A template with its variables of a row replaced; what is no text is written as JSON. @throws RangeError if the row has none. */
export const filled = (template: string, item: Readonly<Record<string, unknown>>): string =>
  template.replaceAll(variable, (whole, inner: string) => {
    const value = referredBy(inner, item);
    if (value !== undefined) return typeof value === 'string' ? value : JSON.stringify(value);
    throw new RangeError(`there is no ${whole}: the columns are ${Object.keys(item).join(', ') || 'none'}`);
  });

/** Says which column a row does not have that a grader names, or `null`. */
export function missingColumn(grader: unknown, row: Readonly<Record<string, unknown>>): string | null {
  const missing = columnsOf(grader).find((name) => !Object.hasOwn(row, name));
  if (missing === undefined) return null;
  const has = Object.keys(row).join(', ') || 'none';
  return `names the column ${missing}, which is not there: the columns are ${has}`;
}
