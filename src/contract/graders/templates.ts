/** `{{…}}` in a text. */
const variable = /\{\{\s*([\s\S]*?)\s*\}\}/g;
/** A namespace and at least one step: `.name`, `[0]` or `['a name']` (trainer/grading/template.py). */
const written = /^(item|sample)((?:\.[^.[\]\s]+|\[-?\d+\]|\["[^"]*"\]|\['[^']*'\])+)$/;
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

/** The columns that the texts anywhere in a grader name. */
export function columnsOf(grader: unknown): string[] {
  if (typeof grader === 'string')
    return [...grader.matchAll(variable)].flatMap(([, inner = '']) => {
      const [, namespace, steps = ''] = written.exec(inner) ?? [];
      return namespace === 'item' ? [nameOf(steps)] : [];
    });
  if (typeof grader !== 'object' || grader === null) return [];
  // The source of Python and a schema are no templates.
  const parts = Object.entries(grader).filter(([name]) => name !== 'source' && name !== 'schema');
  return [...new Set(parts.flatMap(([, part]) => columnsOf(part)))];
}

/** Says which column a row does not have that a grader names, or `null`. */
export function missingColumn(grader: unknown, row: Readonly<Record<string, unknown>>): string | null {
  const missing = columnsOf(grader).find((name) => !Object.hasOwn(row, name));
  if (missing === undefined) return null;
  const has = Object.keys(row).join(', ') || 'none';
  return `names the column ${missing}, which is not there: the columns are ${has}`;
}
