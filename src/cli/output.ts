// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a terminal must not get
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Writes text of models, rows or names: on a terminal without what would control it. */
export const write = (text: string): void =>
  void process.stdout.write(process.stdout.isTTY ? text.replace(controls, '') : text);

/** Prints a result. Progress and errors go to the standard error output, so that a pipe has results alone. */
export const print = (text: string): void => write(`${text}\n`);

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2));

export const note = (text: string): void => void process.stderr.write(`hone: ${text}\n`);

/** A path with the fields of a query that are given. */
export const withQuery = (path: string, query: Readonly<Record<string, unknown>>): string => {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return search.size === 0 ? path : `${path}?${search}`;
};
