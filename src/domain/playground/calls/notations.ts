import type { ToolStyle } from '../../../inference/template/tool-styles.ts';
import { jsonOf } from './json-value.ts';

/** Values that Python writes otherwise than JSON. */
const words: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' };

/**
 * The arguments of a call as JSON, in Gemma's notation, `{key:"text",other:[1,true]}` with marks of its own as quotes, or in
 * Python's, `(key="text", other=[1, True])`.
 * @param quote Gemma's mark; empty for Python's notation
 */
export function readValues(
  text: string,
  quote: string,
): { readonly json: string; readonly isWhole: boolean; readonly end: number } {
  const quotes = [quote === '' ? "'" : quote, '"'];
  let at = 0;
  const skip = () => {
    while (/\s/.test(text[at] ?? '')) at += 1;
  };
  const markAt = () => quotes.find((mark) => text.startsWith(mark, at));
  const quoted = (mark: string): string => {
    const from = at + mark.length;
    let to = text.indexOf(mark, from);
    // Marks of one character are escaped, or stand as they are where nothing ends behind them.
    if (mark.length === 1)
      while (to >= 0 && (isEscaped(text, to) || !/\s*([,)\]}:]|$)/y.test(text.slice(to + 1, to + 20))))
        to = text.indexOf(mark, to + 1);
    if (to < 0) to = text.length;
    at = to + mark.length;
    const inner = text.slice(from, to);
    return JSON.stringify(mark.length > 1 ? inner : unescaped(inner));
  };
  const until = (ends: RegExp): string => {
    const from = at;
    while (at < text.length && !ends.test(text[at] as string)) at += 1;
    return text.slice(from, at).trim();
  };
  /** The items up to `close`, each read by `item`. */
  const list = (close: string, item: () => string): string => {
    const items: string[] = [];
    at += 1;
    for (skip(); at < text.length && text[at] !== close; skip()) {
      items.push(item());
      skip();
      if (text[at] === ',') at += 1;
      else if (text[at] !== close) break;
    }
    at += 1;
    return items.join(', ');
  };
  const member = (): string => {
    const mark = markAt();
    const name = mark === undefined ? JSON.stringify(until(/[:=]/)) : quoted(mark);
    skip();
    at += 1;
    return `${name}: ${value()}`;
  };
  function value(): string {
    skip();
    const mark = markAt();
    if (mark !== undefined) return quoted(mark);
    if (text[at] === '{') return `{${list('}', member)}}`;
    if (text[at] === '(') return `{${list(')', member)}}`;
    if (text[at] === '[') return `[${list(']', value)}]`;
    const plain = until(quote === '' ? /[,}\])]/ : /[,}\]]/);
    const json = words[plain] ?? plain;
    return jsonOf(json) === undefined ? JSON.stringify(json) : json;
  }
  const json = value();
  return { json, isWhole: at <= text.length && text[at - 1] === ')', end: at };
}

/** Whether an odd number of backslashes is before a character. */
function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text[from - 1] === '\\') from -= 1;
  return (at - from) % 2 === 1;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
const unescaped = (text: string): string =>
  text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code?: string, char = '') =>
    code === undefined ? (escapes[char] ?? char) : String.fromCharCode(Number.parseInt(code, 16)),
  );

/**
 * The arguments of a call with a tag for each, such as `<parameter=NAME>\nVALUE\n</parameter>`, as JSON.
 * @param isText whether an argument is a text by the tool's schema; others are JSON if they can be.
 */
export function readTags(text: string, { tag }: ToolStyle, isText: (name: string) => boolean): string {
  const [before, between, after] = tag.map((part) => part.trim().replace(/\n/g, '\\s*')) as [
    string,
    string,
    string,
  ];
  const found = text.matchAll(
    new RegExp(`${before}([^<>]+)${between}\\n?([\\s\\S]*?)\\n?(?:${after}|(?=${before})|$)`, 'g'),
  );
  const members = [...found].map(([, name = '', value = '']) => {
    const isJson = !isText(name) && jsonOf(value) !== undefined;
    return `${JSON.stringify(name)}: ${isJson ? value.trim() : JSON.stringify(value)}`;
  });
  return `{${members.join(', ')}}`;
}
