import { callable, type ToolUse } from '../protocol/generation.ts';
import { literal } from '../schema/notation.ts';
import { readJsonSchema, referredTo } from '../schema/read-schema.ts';
import {
  gemmaNotation,
  jsonNotation,
  plainNotation,
  pythonNotation,
  type ValueNotation,
} from '../schema/value-notation.ts';
import type { Tool } from '../template/message.ts';
import type { ToolStyle } from '../template/tool-styles.ts';

type Json = Record<string, unknown>;

const anything: Json = { type: 'object' };

/** What the arguments of a tool must be: as its schema says where that can be a grammar, else any object. */
function argumentsOf({ function: { parameters = anything } }: Tool, notation: ValueNotation): Json {
  const { faults } = readJsonSchema(parameters, '', notation);
  return faults.length > 0 ? anything : { type: 'object', ...parameters };
}

/** How the arguments of calls are written; those in tags are JSON but for texts. */
function notationOf({ syntax, quote }: ToolStyle): ValueNotation {
  if (syntax === 'gemma') return gemmaNotation(quote);
  return syntax === 'python' ? pythonNotation : jsonNotation;
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
  const notation = notationOf(style);

  const tools = callable(use);
  const calls: string[] = [];
  for (const [index, tool] of tools.entries()) {
    const { name } = tool.function;
    const named = `call${index}`;
    // What it begins by itself is held only where that was asked for.
    const isFree = use.choice === 'auto' && answer === undefined && !use.strict.includes(name);
    const given = isFree ? anything : argumentsOf(tool, notation);
    let body = `${named}-given`;
    if (syntax === 'tags') body = tagged(style, given, body, rules);
    else rules.push(...readJsonSchema(given, body, notation).rules);
    rules.push(`${named} ::= ${literal(name + separator)} ${body}${syntax === 'object' ? ' "}"' : ''}`);
    calls.push(named);
  }
  const several = use.parallel && (between !== '' || close !== '') ? `(${literal(between)} call)*` : '';
  const rule = (...parts: (string | undefined)[]) => parts.filter(Boolean).join(' ');
  const first = rule(literal(headOf(style).slice(written.length)), 'called');
  const opening = headOf({ ...style, begin: '' });
  if (answer !== undefined) rules.push(...readJsonSchema(answer, 'answer').rules);
  return [
    `root ::= ${rule(first, several, literal(end), answer && `| ${rule(literal(final), 'answer')}`)}`,
    `call ::= ${rule(literal(opening), 'called')}`,
    `called ::= ${rule(number && `[0-9]{1,4} ${literal(number)}`, `( ${calls.join(' | ')} )`, literal(close))}`,
    ...(syntax === 'tags' ? tagRules(style) : []),
    ...rules,
  ].join('\n');
}

/** Any arguments, each in a tag. */
const tagRules = ({ tag: [before, between, after] }: ToolStyle): string[] => [
  `tag ::= ${literal(before)} [a-zA-Z0-9_.-]+ ${literal(between)} tag-text ${literal(after)}`,
  'tag-text ::= [^<]*',
];

/** The arguments that a schema has, each in a tag: texts as they are, others as JSON. */
function tagged({ tag: [before, between, after] }: ToolStyle, whole: Json, named: string, rules: string[]) {
  let schema = whole;
  // Libraries write a type that contains itself so. A reference without an end has been refused.
  while ('$ref' in schema) schema = referredTo(whole, schema.$ref) as Json;
  const { properties, required } = schema;
  const members = Object.entries((properties ?? {}) as Record<string, Json>);
  if (members.length === 0) return 'tag*';
  const tags = members.map(([key, value], index) => {
    const rule = `${named}-${index}`;
    const notation = value.type === 'string' ? plainNotation : jsonNotation;
    const { rules: made, faults } = readJsonSchema(value, rule, notation, whole);
    if (faults.length === 0) rules.push(...made);
    const body = faults.length === 0 ? rule : 'tag-text';
    const tag = `${literal(before + key + between)} ${body} ${literal(after)}`;
    return Array.isArray(required) && required.includes(key) ? tag : `(${tag})?`;
  });
  return tags.join(' ');
}
