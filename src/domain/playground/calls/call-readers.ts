import { toolName } from '../../../contract/rows.ts';
import type { ToolStyle } from '../../../inference/template/tool-styles.ts';
import { createObjectReader, jsonOf, type ObjectReader } from './json-value.ts';
import { readGemma, readTags } from './notations.ts';

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
    if (key === 'name') {
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
      const text = given.trimStart();
      if (!object.isDone) return /^["n]/.test(text) ? '' : text;
      // Some write the object as a text.
      const value = jsonOf(text);
      if (typeof value === 'string') return value;
      return text === '' || value === null ? '{}' : text.trimEnd();
    },
  };
}

function readNamed(style: ToolStyle, known: KnownTools): CallReader {
  const { syntax, quote } = style;
  const isJson = syntax === 'named';
  const [headEnd, bodyEnd] = {
    named: ['{', ''],
    gemma: ['{', style.close],
    tags: ['>', '</function>'],
    object: ['', ''],
  }[syntax] as [string, string];
  let head = '';
  let name: string | null = null;
  let body = '';
  let state: CallReader['state'] = 'reading';
  const object: ObjectReader = createObjectReader();
  const converted = (): string => {
    if (syntax === 'gemma') return readGemma(`{${body}`, quote);
    const properties = known.get(name ?? '') ?? {};
    const isText = (key: string) => (properties[key] as { type?: unknown } | undefined)?.type === 'string';
    return readTags(body, isText);
  };

  /** Reads up to the arguments; what they begin with is theirs. */
  function takeHead(text: string): number {
    const whole = head + text;
    const at = whole.indexOf(headEnd);
    if (at < 0) {
      head = whole;
      if (head.length > longestHead) state = 'none';
      return text.length;
    }
    const before = head.length;
    head = whole.slice(0, at);
    name = /^\s*([\w.-]+)/.exec(head)?.[1] ?? null;
    if (name === null || !toolName.test(name)) state = 'none';
    return at + (isJson ? 0 : headEnd.length) - before;
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
    const at = body.indexOf(bodyEnd);
    if (at < 0) return text.length;
    body = body.slice(0, at);
    state = 'done';
    return at + bodyEnd.length - before;
  }

  return {
    push(text) {
      const read = name === null ? takeHead(text) : 0;
      return name === null || state !== 'reading' ? read : read + takeBody(text.slice(read));
    },
    end() {
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
