/** A row with `input` and `output`. */
export interface ConvertedRow {
  readonly input: string;
  readonly output: string;
}

type Row = Readonly<Record<string, unknown>>;
const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown) => (typeof value === 'string' ? value : '');

/** One conversation as turns of user and assistant. */
interface Turn {
  readonly role: string;
  readonly content: string;
}

/**
 * Converts turns to rows: one for each assistant turn, with everything before it as input.
 */
function fromTurns(turns: readonly Turn[]): ConvertedRow[] {
  const rows: ConvertedRow[] = [];
  const said: string[] = [];
  for (const { role, content } of turns) {
    if (role === 'assistant' && said.length > 0) rows.push({ input: said.join('\n\n'), output: content });
    said.push(content);
  }
  return rows;
}

const turnsOf = (
  value: unknown,
  roleField: string,
  textField: string,
  roles: Readonly<Record<string, string>>,
): Turn[] =>
  (Array.isArray(value) ? value : []).filter(isRow).map((turn) => ({
    role: roles[text(turn[roleField])] ?? text(turn[roleField]),
    content: text(turn[textField]),
  }));

/** Alpaca: an instruction, optional input, and output. */
function fromAlpaca(row: unknown): ConvertedRow[] {
  if (!isRow(row)) return [];
  const input = [text(row.instruction), text(row.input)].filter((part) => part !== '').join('\n\n');
  return [{ input, output: text(row.output) }];
}

/** ShareGPT: `conversations` of `from` (system, human, gpt) and `value`. */
const fromShareGpt = (row: unknown) =>
  isRow(row)
    ? fromTurns(turnsOf(row.conversations, 'from', 'value', { human: 'user', gpt: 'assistant' }))
    : [];

/** The converter for rows like `first`; `null` if no conversion is needed or possible. */
export function converterFor(first: unknown): ((row: unknown) => ConvertedRow[]) | null {
  if (!isRow(first)) return null;
  if ('instruction' in first && 'output' in first) return fromAlpaca;
  if ('conversations' in first) return fromShareGpt;
  return null;
}
