import type { Ask } from '../api/generate.ts';

/** Requests to `/v1` as code, to run elsewhere. */

/** Where an access key goes; OpenAI's libraries want some key even where none is needed. */
const placeholder = 'YOUR_ACCESS_KEY';
const anyKey = 'none';

/** The fields of a chat completion that OpenAI's library for Python does not know. */
const ownFields: readonly string[] = [
  'as_base',
  'checkpoint',
  'file',
  'scale',
  'continue_final_message',
] satisfies (keyof Ask)[];

export interface SnippetOptions {
  /** The service's own address. */
  readonly origin: string;
  /** Whether the service wants an access key. */
  readonly needsKey: boolean;
}

/** The base URL for OpenAI's libraries. */
export const baseUrl = (origin: string): string => `${origin}/v1`;

const shellQuote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
/** A value of JSON in Python, within a call. */
function python(value: unknown, indent = '    '): string {
  const inner = `${indent}    `;
  const lines = (open: string, items: readonly string[], close: string) =>
    items.length === 0
      ? open + close
      : `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value))
    return lines(
      '[',
      value.map((item) => python(item, inner)),
      ']',
    );
  if (typeof value !== 'object') return JSON.stringify(value);
  const items = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${python(item, inner)}`);
  return lines('{', items, '}');
}

export function asCurl(ask: Ask, { origin, needsKey }: SnippetOptions): string {
  return [
    `curl -s ${baseUrl(origin)}/chat/completions`,
    ...(needsKey ? [`-H 'authorization: Bearer ${placeholder}'`] : []),
    `-H 'content-type: application/json'`,
    `-d ${shellQuote(JSON.stringify(ask))}`,
  ].join(' \\\n  ');
}

/** What is printed: calls stand beside the content. */
const printedOf = ({ tools }: Ask): string => `answer.choices[0].message${tools ? '' : '.content'}`;

export function asPython(ask: Ask, { origin, needsKey }: SnippetOptions): string {
  // Without what is undefined.
  const fields = Object.entries(JSON.parse(JSON.stringify(ask)));
  const own = fields.filter(([name]) => ownFields.includes(name));
  return [
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${baseUrl(origin)}", api_key="${needsKey ? placeholder : anyKey}")`,
    'answer = client.chat.completions.create(',
    ...fields
      .filter(([name]) => !ownFields.includes(name))
      .map(([name, value]) => `    ${name}=${python(value)},`),
    ...(own.length === 0
      ? []
      : [`    extra_body={${own.map(([name, value]) => `"${name}": ${python(value)}`).join(', ')}},`]),
    ')',
    `print(${printedOf(ask)})`,
    '',
  ].join('\n');
}

export function asJavaScript(ask: Ask, { origin, needsKey }: SnippetOptions): string {
  const key = needsKey ? placeholder : anyKey;
  return [
    `import OpenAI from 'openai';`,
    '',
    `const client = new OpenAI({ baseURL: '${baseUrl(origin)}', apiKey: '${key}' });`,
    `const answer = await client.chat.completions.create(${JSON.stringify(ask, null, 2)});`,
    `console.log(${printedOf(ask)});`,
    '',
  ].join('\n');
}
