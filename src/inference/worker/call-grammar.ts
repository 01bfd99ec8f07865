import type { getLlama } from 'node-llama-cpp';
import { AppError } from '../../errors.ts';
import type { ToolUse } from '../protocol/generation.ts';
import type { Tool } from '../template/message.ts';
import type { ToolStyle } from '../template/tool-styles.ts';
import { readJsonSchema } from './json-schema.ts';

type Llama = Awaited<ReturnType<typeof getLlama>>;
type Json = Record<string, unknown>;

const literal = (text: string): string => (text === '' ? '' : JSON.stringify(text).replaceAll('\\/', '/'));

const anything = { type: 'object', additionalProperties: true };

/** What the arguments of a tool must be: as its schema says where the grammar can express it, else any object. */
function argumentsOf({ function: { name, parameters } }: Tool, strict: ToolUse['strict']): Json[] {
  if (parameters === undefined) return strict.includes(name) ? [{ type: 'object' }] : [anything];
  const { schema, faults } = readJsonSchema(parameters);
  if (faults.length > 0 || Object.keys(parameters).length === 0) return [anything];
  const { properties = {} } = schema as { properties?: Json };
  const required = (parameters.required ?? []) as readonly string[];
  if (strict.includes(name) || Object.keys(properties).every((key) => required.includes(key)))
    return [schema];
  // The grammar knows no property that may be left out: either all that may are there, or none.
  const needed = Object.fromEntries(Object.entries(properties).filter(([key]) => required.includes(key)));
  return [schema, { ...schema, properties: needed }];
}

/** The tools that an answer may call. */
export const callable = ({ tools, choice }: ToolUse): Tool[] =>
  tools.filter(({ function: { name } }) => typeof choice === 'string' || choice.name === name);

/** What every answer of calls begins with, up to the name of a tool. */
const headOf = ({ begin, open, syntax }: ToolStyle): string =>
  begin + open + (syntax === 'object' ? '{"name": "' : '');

/**
 * The beginning of a call at the end of an answer, as far as it is written and nothing else can follow; `null` if there is
 * none.
 */
export function begunCall(style: ToolStyle, text: string): string | null {
  const head = headOf(style);
  const mark = style.starts.find((start) => head.startsWith(start));
  const written =
    mark === undefined
      ? style.starts.reduce((rest, start) => rest.replace(start, ''), text)
      : text.slice(text.includes(mark) ? text.lastIndexOf(mark) : text.length);
  return written !== '' && head.startsWith(written) ? written : null;
}

/**
 * The grammar of an answer that is a call, in the notation of llama.cpp (GBNF).
 * @param written what there is of it already, as `begunCall` has it; without it an object may have other white space
 * @throws AppError `invalid` when the schemas of the tools cannot be made a grammar.
 */
export async function callGrammar(
  style: ToolStyle,
  use: ToolUse,
  llama: Llama,
  written?: string,
): Promise<string> {
  const { begin, between, end, open, separator, close, key, syntax } = style;
  const rules: string[] = [];
  /** A rule for JSON of a schema; its own rules are named after it. */
  async function json(name: string, schema: Json): Promise<void> {
    let text: string;
    try {
      ({ grammar: text } = await llama.createGrammarForJsonSchema(schema as { type: 'object' }));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new AppError('invalid', `The schemas of the tools cannot be made a grammar: ${reason}`, {
        cause,
      });
    }
    const [root = '', ...others] = text.split('\n');
    const own = new Set(others.map((line) => line.slice(0, line.indexOf(' '))));
    const renamed = (line: string) =>
      line.replace(/"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[\w-]+/g, (part) =>
        own.has(part) ? `${name}-${part}` : part,
      );
    // What it has behind the JSON ends an answer that is nothing else.
    rules.push(
      renamed(root.replace(/^root/, name).replace(/ "(\\n){4}" \[\\n\]\*$/, '')),
      ...others.map(renamed),
    );
  }

  const tools = callable(use);
  const calls: string[] = [];
  for (const [index, tool] of tools.entries()) {
    const { name } = tool.function;
    const named = `call${index}`;
    const isFree = written !== undefined && !use.strict.includes(name);
    const given = isFree ? [anything] : argumentsOf(tool, use.strict);
    if (syntax === 'object' && written !== undefined) {
      await json(`${named}-json`, given.length === 1 ? (given[0] as Json) : { oneOf: given });
      rules.push(`${named} ::= ${literal(`${name}", "${key}": `)} ${named}-json "}"`);
    } else if (syntax === 'object') {
      const objects = given.map((one) => ({
        type: 'object',
        properties: { name: { const: name }, [key]: one },
      }));
      await json(named, objects.length === 1 ? (objects[0] as Json) : { oneOf: objects });
    } else if (syntax === 'named') {
      await json(`${named}-json`, given.length === 1 ? (given[0] as Json) : { oneOf: given });
      rules.push(`${named} ::= ${literal(name + separator)} ${named}-json`);
    } else if (syntax === 'gemma') {
      rules.push(`${named} ::= ${literal(name)} gemma-object`);
    } else {
      rules.push(`${named} ::= ${literal(`${name}>\n`)} tag*`);
    }
    calls.push(named);
  }
  const several = use.parallel && (between !== '' || close !== '') ? `(${literal(between)} call)*` : '';
  const rule = (...parts: string[]) => parts.filter(Boolean).join(' ');
  const first =
    written === undefined
      ? rule(literal(begin), 'call')
      : rule(literal(headOf(style).slice(written.length)), 'called');
  const opening = written === undefined ? open : headOf({ ...style, begin: '' });
  return [
    `root ::= ${rule(first, several, literal(end))}`,
    `call ::= ${rule(literal(opening), 'called')}`,
    `called ::= ${rule(`( ${calls.join(' | ')} )`, literal(close))}`,
    ...(syntax === 'gemma' ? gemmaRules(style.quote) : []),
    ...(syntax === 'tags' ? tagRules : []),
    ...rules,
  ].join('\n');
}

/** Any object in Gemma's notation. */
const gemmaRules = (quote: string): string[] => [
  'gemma-object ::= "{" (gemma-member ("," gemma-member)*)? "}"',
  'gemma-member ::= [a-zA-Z_] [a-zA-Z0-9_]* ":" gemma-value',
  'gemma-value ::= gemma-text | gemma-number | "true" | "false" | "null" | gemma-object | gemma-list',
  'gemma-list ::= "[" (gemma-value ("," gemma-value)*)? "]"',
  'gemma-number ::= "-"? [0-9]{1,15} ("." [0-9]{1,15})?',
  `gemma-text ::= ${literal(quote)} [^<]* ${literal(quote)}`,
];

/** Any arguments, each in a tag. */
const tagRules: readonly string[] = [
  'tag ::= "<parameter=" [a-zA-Z0-9_.-]+ ">\\n" [^<]* "\\n</parameter>\\n"',
];
