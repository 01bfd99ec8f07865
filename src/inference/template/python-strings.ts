/** Methods of Python's `str`, as chat templates use them. Positions count code points, as in Python. */
type Method = (text: string, ...args: unknown[]) => unknown;

/** What `str.isspace` holds for: unlike `String.prototype.trim`, U+001C to U+001F and U+0085 but not U+FEFF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are white space in Python
const space = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const firstWord = new RegExp(`^(?:(?!${space.source}).)+`, 's');
const lastWord = new RegExp(`(?:(?!${space.source}).)+$`, 's');
/** What `str.splitlines` splits at. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are white space in Python
const lineEnd = /\r\n|[\n-\r\x1c-\x1e\x85\u2028\u2029]/g;

const points = (text: string): number => Array.from(text).length;
const place = (text: string, at: number): number => (at < 0 ? -1 : points(text.slice(0, at)));

function text(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new Error(`${what} must be a string`);
  return value;
}

function stripped(from: string, chars: unknown, start: boolean, end: boolean): string {
  const wanted = chars === undefined || chars === null ? null : new Set(text(chars, 'strip characters'));
  const drops = (char: string | undefined): boolean =>
    char !== undefined && (wanted === null ? space.test(char) : wanted.has(char));
  const all = Array.from(from);
  let first = 0;
  let last = all.length;
  while (start && first < last && drops(all[first])) first += 1;
  while (end && last > first && drops(all[last - 1])) last -= 1;
  return all.slice(first, last).join('');
}

/** `str.split` and, from the right, `str.rsplit`. */
function split(from: string, separator: unknown, most: unknown, right: boolean): string[] {
  const limit = most === undefined || Number(most) < 0 ? Number.POSITIVE_INFINITY : Number(most);
  if (separator === undefined || separator === null) return words(from, limit, right);
  const by = text(separator, 'separator');
  if (by === '') throw new Error('empty separator');
  const parts = from.split(by);
  const joined = Math.max(0, parts.length - 1 - limit);
  if (joined === 0) return parts;
  return right
    ? [parts.slice(0, joined + 1).join(by), ...parts.slice(joined + 1)]
    : [...parts.slice(0, limit), parts.slice(limit).join(by)];
}

/** The words of `from`, of which those beyond `limit` stay together. */
function words(from: string, limit: number, right: boolean): string[] {
  const found: string[] = [];
  const add = (word: string) => (right ? found.unshift(word) : found.push(word));
  for (let rest = from; ; ) {
    rest = stripped(rest, null, !right, right);
    if (rest === '') return found;
    const [word] = (right ? lastWord : firstWord).exec(rest) ?? [rest];
    if (found.length >= limit) {
      add(rest);
      return found;
    }
    add(word);
    rest = right ? rest.slice(0, rest.length - word.length) : rest.slice(word.length);
  }
}

function splitLines(from: string, keepEnds: unknown): string[] {
  const lines: string[] = [];
  let at = 0;
  for (const { index, 0: end } of from.matchAll(lineEnd)) {
    lines.push(from.slice(at, keepEnds === true ? index + end.length : index));
    at = index + end.length;
  }
  if (at < from.length) lines.push(from.slice(at));
  return lines;
}

/** `str(value)`, for what has the same text in both languages. */
export function pythonText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Number.isSafeInteger(value)) return String(value);
  throw new Error(`the text of ${JSON.stringify(value)} differs between languages`);
}

/** `template % values`. @throws Error for other conversions than %s, %d, %i and %%. */
export function percentFormat(template: string, values: readonly unknown[]): string {
  const left = [...values];
  const result = template.replace(/%(.?)/gs, (_, kind: string) => {
    if (kind === '%') return '%';
    if (!'sdi'.includes(kind) || kind === '') throw new Error(`unsupported conversion %${kind}`);
    if (left.length === 0) throw new Error('not enough arguments for format string');
    const value = left.shift();
    if (kind !== 's' && !Number.isInteger(value)) throw new Error(`%${kind} needs an integer`);
    return pythonText(value);
  });
  if (left.length > 0) throw new Error('not all arguments converted during string formatting');
  return result;
}

/** `template.format(...values, **named)`. @throws Error for a format specification, a conversion or an attribute. */
function braceFormat(template: string, values: readonly unknown[], named: ReadonlyMap<string, unknown>) {
  let next = 0;
  return template.replace(/\{\{|\}\}|\{([^{}]*)\}|[{}]/g, (found, name: string | undefined) => {
    if (found === '{{' || found === '}}') return found[0] as string;
    if (name === undefined || !/^\w*$/.test(name)) throw new Error(`unsupported replacement field ${found}`);
    const value = /^\d*$/.test(name) ? values[name === '' ? next++ : Number(name)] : named.get(name);
    if (value === undefined) throw new Error(`no value for the replacement field ${found}`);
    return pythonText(value);
  });
}

export const pythonStrings: Readonly<Record<string, Method>> = {
  strip: (from, chars) => stripped(from, chars, true, true),
  lstrip: (from, chars) => stripped(from, chars, true, false),
  rstrip: (from, chars) => stripped(from, chars, false, true),
  split: (from, separator, most) => split(from, separator, most, false),
  rsplit: (from, separator, most) => split(from, separator, most, true),
  splitlines: (from, keepEnds) => splitLines(from, keepEnds),
  find: (from, part) => place(from, from.indexOf(text(part, 'find() argument'))),
  rfind: (from, part) => place(from, from.lastIndexOf(text(part, 'rfind() argument'))),
  count: (from, part) =>
    part === '' ? points(from) + 1 : from.split(text(part, 'count() argument')).length - 1,
  join: (from, parts) => {
    if (!Array.isArray(parts)) throw new Error('join() takes a list of strings');
    return parts.map((part) => text(part, 'what join() joins')).join(from);
  },
  partition: (from, by) => {
    const at = from.indexOf(text(by, 'separator'));
    const end = at + String(by).length;
    return at < 0 ? [from, '', ''] : [from.slice(0, at), by, from.slice(end)];
  },
  rpartition: (from, by) => {
    const at = from.lastIndexOf(text(by, 'separator'));
    return at < 0 ? ['', '', from] : [from.slice(0, at), by, from.slice(at + String(by).length)];
  },
  removeprefix: (from, prefix) =>
    from.startsWith(text(prefix, 'prefix')) ? from.slice(String(prefix).length) : from,
  removesuffix: (from, suffix) =>
    from.endsWith(text(suffix, 'suffix')) ? from.slice(0, from.length - String(suffix).length) : from,
  capitalize: (from) => from.charAt(0).toUpperCase() + from.slice(1).toLowerCase(),
  isspace: (from) => from !== '' && stripped(from, null, true, true) === '',
  isdigit: (from) => /^\p{Nd}+$/u.test(from),
  format: (from, ...values) => {
    const named = values.at(-1) instanceof Map ? (values.pop() as Map<string, unknown>) : new Map();
    return braceFormat(from, values, named);
  },
};

/** Filters of Jinja on strings that are Python's methods. */
export const stringFilters: Readonly<Record<string, Method>> = {
  trim: (from, chars) => stripped(from, chars, true, true),
  length: (from) => points(from),
  count: (from) => points(from),
  capitalize: pythonStrings.capitalize as Method,
  format: (from, ...values) => percentFormat(from, values),
};
