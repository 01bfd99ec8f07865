import { callable, type ToolUse } from '../protocol/generation.ts';
import { literal, oneOf } from '../schema/notation.ts';
import { readJsonSchema } from '../schema/read-schema.ts';
import type { Tool } from '../template/message.ts';
import type { ToolStyle } from '../template/tool-styles.ts';

type Json = Record<string, unknown>;

const anything: Json = { type: 'object' };

/** What the arguments of a tool must be: as its schema says where that can be a grammar, else any object. */
function argumentsOf({ function: { parameters = anything } }: Tool): Json {
  return readJsonSchema(parameters).faults.length > 0 ? anything : { type: 'object', ...parameters };
}

/** What every answer of calls begins with, up to the name of a tool or the number before it. */
export const headOf = ({ begin, open, head }: ToolStyle): string => begin + open + head;

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
 * The grammar of an answer that is a call, or JSON of a schema instead, in the notation of llama.cpp (GBNF).
 * @param written what there is of it already, of what every call begins with
 * @param answer the schema of an answer without calls; without it, the answer must be a call
 */
export function callGrammar(style: ToolStyle, use: ToolUse, written: string, answer?: Json): string {
  const { between, end, separator, close, syntax, final, number } = style;
  const rules: string[] = [];
  /** A rule for JSON of a schema. */
  const json = (name: string, schema: Json) => rules.push(...readJsonSchema(schema, name).rules);

  const tools = callable(use);
  const calls: string[] = [];
  for (const [index, tool] of tools.entries()) {
    const { name } = tool.function;
    const named = `call${index}`;
    // What it begins by itself is held only where that was asked for.
    const isFree = use.choice === 'auto' && answer === undefined && !use.strict.includes(name);
    const given = isFree ? anything : argumentsOf(tool);
    let body = `${named}-json`;
    if (syntax === 'gemma') body = 'gemma-object';
    else if (syntax === 'python') body = 'python-items';
    else if (syntax === 'tags') body = tagged(style, given, `${named}-json`, rules);
    else json(`${named}-json`, given);
    rules.push(`${named} ::= ${literal(name + separator)} ${body}${syntax === 'object' ? ' "}"' : ''}`);
    calls.push(named);
  }
  const several = use.parallel && (between !== '' || close !== '') ? `(${literal(between)} call)*` : '';
  const rule = (...parts: (string | undefined)[]) => parts.filter(Boolean).join(' ');
  const first = rule(literal(headOf(style).slice(written.length)), 'called');
  const opening = headOf({ ...style, begin: '' });
  if (answer !== undefined) json('answer', answer);
  return [
    `root ::= ${rule(first, several, literal(end), answer && `| ${rule(literal(final), 'answer')}`)}`,
    `call ::= ${rule(literal(opening), 'called')}`,
    `called ::= ${rule(number && `[0-9]{1,4} ${literal(number)}`, `( ${calls.join(' | ')} )`, literal(close))}`,
    ...(syntax === 'gemma' ? gemmaRules(style.quote) : []),
    ...(syntax === 'python' ? pythonRules : []),
    ...(syntax === 'tags' ? tagRules(style) : []),
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

/** Any named arguments in Python's notation, and what ends them. */
const pythonRules: readonly string[] = [
  'python-items ::= (python-item (", " python-item)*)? ")"',
  'python-item ::= [a-zA-Z_] [a-zA-Z0-9_]* "=" python-value',
  'python-value ::= python-text | python-number | "True" | "False" | "None" | python-dict | python-list',
  'python-dict ::= "{" (python-member (", " python-member)*)? "}"',
  'python-member ::= python-text ": " python-value',
  'python-list ::= "[" (python-value (", " python-value)*)? "]"',
  'python-number ::= "-"? [0-9]{1,15} ("." [0-9]{1,15})?',
  `python-text ::= "\\"" ([^"\\\\\\n] | "\\\\" ["\\\\nt])* "\\""`,
];

/** Any arguments, each in a tag. */
const tagRules = ({ tag: [before, between, after] }: ToolStyle): string[] => [
  `tag ::= ${literal(before)} [a-zA-Z0-9_.-]+ ${literal(between)} tag-text ${literal(after)}`,
  'tag-text ::= [^<]*',
];

/** The arguments that a schema has, each in a tag: texts as they are, others as JSON. */
function tagged(
  { tag: [before, between, after] }: ToolStyle,
  { properties, required, $defs, definitions }: Json,
  named: string,
  rules: string[],
): string {
  const members = Object.entries((properties ?? {}) as Record<string, Json>);
  if (members.length === 0) return 'tag*';
  const tags = members.map(([key, schema], index) => {
    const rule = `${named}-${index}`;
    let value = 'tag-text';
    if (schema.type !== 'string') {
      const { rules: made, faults } = readJsonSchema({ ...schema, $defs, definitions }, rule);
      if (faults.length === 0) {
        rules.push(...made);
        value = rule;
      }
    } else if (Array.isArray(schema.enum)) value = oneOf(schema.enum.map((one) => literal(String(one))));
    const tag = `${literal(before + key + between)} ${value} ${literal(after)}`;
    return Array.isArray(required) && required.includes(key) ? tag : `(${tag})?`;
  });
  return tags.join(' ');
}
