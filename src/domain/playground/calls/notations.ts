import { jsonOf } from './json-value.ts';

/** The arguments of a call in Gemma's notation, `{key:"text",other:[1,true]}` with marks of its own as quotes, as JSON. */
export function readGemma(text: string, quote: string): string {
  let at = 0;
  const skip = () => {
    while (/\s/.test(text[at] ?? '')) at += 1;
  };
  const quoted = (mark: string): string => {
    const from = at + mark.length;
    const found = text.indexOf(mark, from);
    const to = found < 0 ? text.length : found;
    at = to + mark.length;
    return JSON.stringify(text.slice(from, to));
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
    const name = text.startsWith(quote, at) ? quoted(quote) : JSON.stringify(until(/:/));
    skip();
    at += 1;
    return `${name}: ${value()}`;
  };
  function value(): string {
    skip();
    if (text.startsWith(quote, at)) return quoted(quote);
    if (text[at] === '"') return quoted('"');
    if (text[at] === '{') return `{${list('}', member)}}`;
    if (text[at] === '[') return `[${list(']', value)}]`;
    const plain = until(/[,}\]]/);
    return jsonOf(plain) === undefined ? JSON.stringify(plain) : plain;
  }
  return value();
}

/**
 * The arguments of a call with a tag for each, `<parameter=NAME>\nVALUE\n</parameter>`, as JSON.
 * @param isText whether an argument is a text by the tool's schema; others are JSON if they can be.
 */
export function readTags(text: string, isText: (name: string) => boolean): string {
  const found = text.matchAll(/<parameter=([^>]+)>\n?([\s\S]*?)\n?(?:<\/parameter>|(?=<parameter=)|$)/g);
  const members = [...found].map(([, name = '', value = '']) => {
    const isJson = !isText(name) && jsonOf(value) !== undefined;
    return `${JSON.stringify(name)}: ${isJson ? value.trim() : JSON.stringify(value)}`;
  });
  return `{${members.join(', ')}}`;
}
