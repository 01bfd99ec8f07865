import { toolName } from '../../../contract/rows.ts';
import type { ToolStyle } from '../../../inference/template/tool-styles.ts';
import { createObjectReader, jsonOf, type ObjectReader } from './json-value.ts';
import { readTags, readValues } from './notations.ts';

/** What is known of a call that is read; it is none where a name cannot be found. */
export interface CallReader {
  /** Takes as much of a text as belongs to the call; returns how many characters those are. */
  push(text: string): number;
  /** The answer has ended. */
  end(): void;
  readonly state: 'reading' | 'done' | 'none';
  readonly name: string | null;
  /** What has been read of the name. */
  readonly begunName: string;
  /** What has been read of the arguments. */
  readonly arguments: string;
}

/** What a call is read with: the properties of each tool, by its name. */
export type KnownTools = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** The most characters before the arguments of a call. */
const longestHead = 200;

/** Reads one call, from its object or name on. */
export const createCallReader = (style: ToolStyle, known: KnownTools): CallReader =>
  style.syntax === 'object' ? readObject(style, known) : readNamed(style, known);

function readObject({ isBare }: ToolStyle, known: KnownTools): CallReader {
  let name: string | null = null;
  let named = '';
  let isRefused = false;
  let given = '';
  const object = createObjectReader((key, text, isComplete) => {
    if (key === 'name' || key === 'tool_name') {
      named += text;
      const value = isComplete ? jsonOf(named) : undefined;
      if (isComplete) isRefused ||= typeof value !== 'string' || !toolName.test(value);
      if (isComplete && !isRefused) name = value as string;
    } else if (key === 'arguments' || key === 'parameters') given += text;
    // Without a mark, an object may be an answer in JSON.
    else if (isBare && key !== 'type') isRefused = true;
    if (isBare && name !== null && !known.has(name)) isRefused = true;
  });
  return {
    push: (text) => object.push(text),
    end: () => undefined,
    get state() {
      if (isRefused) return 'none';
      if (object.isDone) return name === null ? 'none' : 'done';
      return 'reading';
    },
    get name() {
      return name;
    },
    get begunName() {
      return name ?? named.replace(/^\s*"/, '');
    },
    get arguments() {
      const text = given.trim();
      if (!object.isDone) return /^["n]/.test(text) ? '' : text;
      // Some write the object as a text.
      const value = jsonOf(text);
      if (typeof value === 'string') return value;
      return text === '' || value === null ? '{}' : text;
    },
  };
}

function readNamed(style: ToolStyle, known: KnownTools): CallReader {
  const { syntax, quote } = style;
  const isJson = syntax === 'named';
  /** What is behind a name: the beginning of the arguments, or of a tag, is theirs. */
  const headEnd = { named: /\{/, gemma: /\{/, python: /\(/, tags: /[>\n<]/, object: /^/ }[syntax];
  /** What ends the arguments. */
  const bodyEnd = style.close.split('\n')[0] as string;
  let head = '';
  let name: string | null = null;
  let body = '';
  let state: CallReader['state'] = 'reading';
  const object: ObjectReader = createObjectReader();
  const converted = (): string => {
    if (syntax === 'gemma' || syntax === 'python') return readValues(body, quote).json;
    const properties = known.get(name ?? '') ?? {};
    const isText = (key: string) => (properties[key] as { type?: unknown } | undefined)?.type === 'string';
    return readTags(body, style, isText);
  };

  /** Reads up to the arguments; what they begin with is theirs. */
  function takeHead(text: string): number {
    const whole = head + text;
    const at = whole.search(headEnd);
    if (at < 0) {
      head = whole;
      if (head.length > longestHead) state = 'none';
      return text.length;
    }
    const before = head.length;
    head = whole.slice(0, at);
    name = /^\s*([\w.-]+)/.exec(head)?.[1] ?? null;
    if (name === null || !toolName.test(name)) state = 'none';
    return at + (/[>\n]/.test(whole[at] as string) ? 1 : 0) - before;
  }

  function takeBody(text: string): number {
    if (isJson) {
      const read = object.push(text);
      body += text.slice(0, read);
      if (object.isDone) state = 'done';
      return read;
    }
    const before = body.length;
    body += text;
    let end = -1;
    if (syntax !== 'python') {
      const at = body.indexOf(bodyEnd);
      if (at >= 0) [body, end] = [body.slice(0, at), at + bodyEnd.length];
    } else if (text.includes(')')) {
      const { isWhole, end: at } = readValues(body, quote);
      if (isWhole) [body, end] = [body.slice(0, at), at];
    }
    if (end < 0) return text.length;
    state = 'done';
    return end - before;
  }

  return {
    push(text) {
      const read = name === null ? takeHead(text) : 0;
      return name === null || state !== 'reading' ? read : read + takeBody(text.slice(read));
    },
    end() {
      if (syntax === 'tags') name ??= /^\s*([\w.-]+)\s*$/.exec(head)?.[1] ?? null;
      if (!isJson && state === 'reading' && name !== null) state = 'done';
    },
    get state() {
      return state;
    },
    get name() {
      return name;
    },
    get begunName() {
      return name ?? head.trimStart();
    },
    get arguments() {
      if (isJson) return body;
      return state === 'done' ? converted() : '';
    },
  };
}
