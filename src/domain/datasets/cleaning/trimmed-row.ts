/** What JSON allows as white space, and how it is escaped. */
const space = /^(?:[ \t\r\n]|\\[nrt]|\\u00(?:20|09|0[aAdD]))/;
const longestUnit = 6;

/** A JSON object or array that is being read. */
interface Container {
  readonly isObject: boolean;
  /** The field whose value is next; `null` before its name. */
  key: string | null;
}

/**
 * A row without white space at the beginning and end of its texts, those of messages included. Everything else stays as
 * it is written; so does a text of nothing else, which may be needed.
 * @param line a JSON object.
 */
export function trimmedRow(line: string, fields: readonly string[]): string {
  const parts: string[] = [];
  let kept = 0;
  const open: Container[] = [];
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at];
    const inner = open.at(-1);
    if (char === '{' || char === '[') open.push({ isObject: char === '{', key: null });
    else if (char === '}' || char === ']') open.pop();
    else if (char === ',' && inner !== undefined) inner.key = null;
    else if (char === '"') {
      const end = endOfString(line, at);
      if (inner?.isObject && inner.key === null) inner.key = JSON.parse(line.slice(at, end)) as string;
      else if (isText(open, fields)) {
        const [from, to] = withoutSpace(line, at + 1, end - 1);
        parts.push(line.slice(kept, at + 1), line.slice(from, to));
        kept = end - 1;
      }
      at = end - 1;
    }
  }
  return parts.join('') + line.slice(kept);
}

/** Whether a string here is a text of a field, or of a message in it. */
function isText(open: readonly Container[], fields: readonly string[]): boolean {
  const [outer] = open;
  if (!fields.includes(outer?.key ?? '')) return false;
  return open.length === 1 || open.at(-1)?.key === 'content';
}

/** What follows the string that begins at `at`. */
function endOfString(line: string, at: number): number {
  let end = at + 1;
  while (end < line.length && line[end] !== '"') end += line[end] === '\\' ? 2 : 1;
  return end + 1;
}

/** Where the text between two places begins and ends without white space around it. */
function withoutSpace(line: string, start: number, end: number): readonly [number, number] {
  let first = -1;
  let last = end;
  for (let at = start; at < end; ) {
    const char = line[at];
    const length = char === '\\' ? (line[at + 1] === 'u' ? longestUnit : 2) : 1;
    if ((char !== ' ' && char !== '\\') || !space.test(line.slice(at, at + length))) {
      if (first < 0) first = at;
      last = at + length;
    }
    at += length;
  }
  return first < 0 ? [start, end] : [first, last];
}
