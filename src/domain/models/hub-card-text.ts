/** Line breaks and invisible characters, which must be escaped in a card. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const unseen = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * A value as JSON without unseen characters: in YAML a double-quoted scalar means the same, and so does a
 * string literal in Python.
 */
export function quoted(value: unknown): string {
  return JSON.stringify(value).replace(
    unseen,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * A text as inline code of Markdown, within which nothing is markup; fit for a cell of a table. What could
 * end the code or the cell makes it plain text in character references instead, which mark nothing up.
 */
export function codeSpan(text: string): string {
  const line = text.replace(unseen, ' ').trim();
  if (line === '') return '–';
  if (!/[`|]/.test(line)) return `\`${line}\``;
  return line.replace(/[!-/:-@[-`{-~]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Lines of text without invisible characters. */
export const plainLines = (text: string): string =>
  text
    .trim()
    .split(/\r?\n/)
    .map((line) => line.replace(unseen, ' '))
    .join('\n');

/** A block of code; its fence is longer than any run of backticks in it. */
export function codeBlock(language: string, code: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(code) + 1));
  return `${fence}${language}\n${code}\n${fence}`;
}

const longestRun = (text: string) => Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
