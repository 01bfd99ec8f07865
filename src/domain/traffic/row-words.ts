/** What of a row is compared with other rows: system prompts, which most rows of a product share, are left out. */
export interface RowWords {
  /** What is asked. */
  readonly asked: string;
  /** The same with the answers. */
  readonly all: string;
}

interface Message {
  readonly role?: unknown;
  readonly content?: unknown;
  readonly tool_calls?: unknown;
}

const isMessage = (value: unknown): value is Message => typeof value === 'object' && value !== null;

/** The texts and calls of a message, without what differs between equal ones, such as the IDs of calls. */
function wordsOf({ content, tool_calls: calls }: Message): string {
  const called = (Array.isArray(calls) ? calls : []).map((call: unknown) => {
    const named = isMessage(call)
      ? (call as { function?: { name?: unknown; arguments?: unknown } }).function
      : null;
    return `${named?.name} ${typeof named?.arguments === 'string' ? named.arguments : JSON.stringify(named?.arguments)}`;
  });
  return [typeof content === 'string' ? content : '', ...called].join('\n');
}

const conversation = (value: unknown): readonly Message[] =>
  Array.isArray(value) ? value.filter(isMessage).filter(({ role }) => role !== 'system') : [];

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : conversation(value).map(wordsOf).join('\n');

const askedFields = ['context', 'question', 'input', 'prompt', 'text'];
const answerFields = ['answer', 'output', 'completion', 'chosen', 'rejected'];

/** What of a row of any shape is compared. */
export function rowWords(row: Readonly<Record<string, unknown>>): RowWords {
  const join = (fields: readonly string[]) =>
    fields.flatMap((field) => (field in row ? textOf(row[field]) : []));
  const messages = conversation(row.messages);
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const asked = [...messages.slice(0, last < 0 ? messages.length : last).map(wordsOf), ...join(askedFields)];
  const answered = [...(last < 0 ? [] : messages.slice(last).map(wordsOf)), ...join(answerFields)];
  return { asked: asked.join('\n'), all: [...asked, ...answered].join('\n') };
}
