import {
  answerTemplate,
  type GraderType,
  lengthUnits,
  similarityMetrics,
  stringOperations,
} from './grader-types.ts';

/** A field of a grader in a form. */
export interface GraderField {
  readonly name: string;
  readonly label: string;
  /** What is written: a text, Python, JSON, a number, one of `choices`, or one text a line. */
  readonly kind: 'text' | 'code' | 'json' | 'number' | 'choice' | 'lines';
  readonly choices?: readonly string[];
  /** What it begins with. */
  readonly value?: string;
}

const input = { name: 'input', label: 'Input', kind: 'text', value: answerTemplate } as const;
const reference = { name: 'reference', label: 'Reference', kind: 'text', value: '{{item.output}}' } as const;
const question = JSON.stringify(
  [{ role: 'user', content: 'Rate this answer from 0 to 1: {{sample.output_text}}' }],
  null,
  2,
);
const asked = [
  { name: 'model', label: 'Model that judges', kind: 'text' },
  { name: 'input', label: 'Messages', kind: 'json', value: question },
] as const;
const parts = JSON.stringify(
  { exact: { type: 'string_check', operation: 'eq', input: answerTemplate, reference: reference.value } },
  null,
  2,
);

/** What each type is called, and the fields that a form has for it; the API has more (docs/graders.md). */
export const graderForms: Readonly<
  Record<GraderType, { readonly label: string; readonly fields: readonly GraderField[] }>
> = {
  string_check: {
    label: 'Text: equal, or contains',
    fields: [
      input,
      { name: 'operation', label: 'Comparison', kind: 'choice', choices: stringOperations },
      reference,
    ],
  },
  text_similarity: {
    label: 'Text: how similar',
    fields: [
      input,
      reference,
      { name: 'evaluation_metric', label: 'Metric', kind: 'choice', choices: similarityMetrics },
    ],
  },
  python: {
    label: 'Python',
    fields: [
      {
        name: 'source',
        label: 'Source',
        kind: 'code',
        value: 'def grade(sample, item):\n    return float(sample["output_text"] == item["output"])\n',
      },
    ],
  },
  score_model: { label: 'Score by a model', fields: asked },
  label_model: {
    label: 'Label by a model',
    fields: [
      ...asked,
      { name: 'labels', label: 'Labels, one a line', kind: 'lines' },
      { name: 'passing_labels', label: 'Labels that pass, one a line', kind: 'lines' },
    ],
  },
  multi: {
    label: 'Formula of several graders',
    fields: [
      { name: 'graders', label: 'Graders by name', kind: 'json', value: parts },
      { name: 'calculate_output', label: 'Formula', kind: 'text', value: 'exact' },
    ],
  },
  hone_json_schema: {
    label: 'JSON that fits a schema',
    fields: [input, { name: 'schema', label: 'Schema', kind: 'json', value: '{\n  "type": "object"\n}' }],
  },
  hone_json_equal: { label: 'JSON: equal fields', fields: [input, reference] },
  hone_number: {
    label: 'Number within a tolerance',
    fields: [
      input,
      reference,
      { name: 'tolerance', label: 'Tolerance', kind: 'number', value: '0' },
      { name: 'relative_tolerance', label: 'Tolerance as a share', kind: 'number', value: '0' },
    ],
  },
  hone_math: { label: 'Mathematically equal', fields: [input, reference] },
  hone_regex: {
    label: 'Regular expression',
    fields: [input, { name: 'pattern', label: 'Pattern', kind: 'text' }],
  },
  hone_length: {
    label: 'Length',
    fields: [
      input,
      { name: 'unit', label: 'Unit', kind: 'choice', choices: lengthUnits },
      { name: 'min', label: 'At least', kind: 'number' },
      { name: 'max', label: 'At most', kind: 'number' },
    ],
  },
  hone_contains: {
    label: 'Contains all of',
    fields: [input, { name: 'values', label: 'Texts, one a line', kind: 'lines' }],
  },
};

/**
 * The value of a field as it is sent; `undefined` if it is empty.
 * @throws SyntaxError if it is no JSON, or no number.
 */
export function fieldValue({ kind, label }: GraderField, text: string): unknown {
  if (text.trim() === '') return undefined;
  if (kind === 'lines') return text.split('\n').filter((line) => line.trim() !== '');
  if (kind !== 'json' && kind !== 'number') return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`${label}: ${(error as Error).message}`);
  }
  if (kind === 'number' && typeof value !== 'number') throw new SyntaxError(`${label} must be a number`);
  return value;
}
