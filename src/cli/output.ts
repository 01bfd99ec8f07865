/** Prints a result. Progress and errors go to the standard error output, so that a pipe has results alone. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`);

export const printJson = (value: unknown): void => print(JSON.stringify(value, null, 2));

export const note = (text: string): void => void process.stderr.write(`hone: ${text}\n`);

/** A path with the fields of a query that are given. */
export const withQuery = (path: string, query: Readonly<Record<string, unknown>>): string => {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return search.size === 0 ? path : `${path}?${search}`;
};
