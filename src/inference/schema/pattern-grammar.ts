import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { inOrder, literal, oneOf, repeated } from './notation.ts';
import type { Range, ValueNotation } from './value-notation.ts';

type Texts = Pick<ValueNotation, 'escapes' | 'special'>;

/** A pattern that has no grammar. */
export class PatternFault extends Error {}

const highest = 0x10ffff;
const mostRepetitions = 1000;
const parser = new RegExpParser();

const wordRanges: readonly Range[] = [
  [0x30, 0x39],
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
];
/** ECMAScript's white space and line ends. */
const spaceRanges: readonly Range[] = [
  ...([
    [0x09, 0x0d],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
  ] as const),
  ...([
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ] as const),
];
const lineEnds: readonly Range[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
];

/** All other code points. */
function othersThan(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort(([a], [b]) => a - b);
  const rest: Range[] = [];
  let next = 0;
  for (const [from, to] of sorted) {
    if (from > next) rest.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= highest) rest.push([next, highest]);
  return rest;
}

/** Those that stand for themselves in a text. */
const plain = (ranges: readonly Range[], { special }: Texts): Range[] =>
  othersThan([...othersThan(ranges), ...special]);

function inClass(point: number): string {
  if (/[A-Za-z0-9]/.test(String.fromCodePoint(point))) return String.fromCodePoint(point);
  const hex = point.toString(16).toUpperCase();
  return point > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}

/** One character of a set, as a text has it. @throws PatternFault if there is none. */
function character(ranges: readonly Range[], texts: Texts): string {
  const own = plain(ranges, texts).map(([from, to]) =>
    from === to ? inClass(from) : `${inClass(from)}-${inClass(to)}`,
  );
  const escaped = [...texts.escapes].filter(([point]) =>
    ranges.some(([from, to]) => from <= point && point <= to),
  );
  const parts = [
    ...(own.length > 0 ? [`[${own.join('')}]`] : []),
    ...escaped.map(([, text]) => literal(text)),
  ];
  if (parts.length === 0) throw new PatternFault('no character that can be written matches a part of it');
  return oneOf(parts);
}

function rangesOf(element: AST.CharacterClassElement | AST.CharacterSet | AST.Character): readonly Range[] {
  switch (element.type) {
    case 'Character':
      return [[element.value, element.value]];
    case 'CharacterClassRange':
      return [[element.min.value, element.max.value]];
    case 'CharacterSet': {
      if (element.kind === 'any') return othersThan(lineEnds);
      if (element.kind === 'property') throw new PatternFault(`${element.raw} has no grammar`);
      const named = { digit: [[0x30, 0x39]] as const, space: spaceRanges, word: wordRanges }[element.kind];
      return element.negate ? othersThan(named) : named;
    }
    default:
      throw new PatternFault(`${element.raw} has no grammar`);
  }
}

function quantified({ element, min, max }: AST.Quantifier, texts: Texts): string {
  if (min > mostRepetitions || (max !== Number.POSITIVE_INFINITY && max > mostRepetitions))
    throw new PatternFault(`it repeats a part more than ${mostRepetitions} times`);
  return repeated(elementOf(element, texts), min, max);
}

function elementOf(element: AST.Element, texts: Texts): string {
  switch (element.type) {
    case 'Character':
    case 'CharacterSet':
      return character(rangesOf(element), texts);
    case 'CharacterClass': {
      const ranges = element.elements.flatMap((one) => [...rangesOf(one as AST.CharacterClassElement)]);
      return character(element.negate ? othersThan(ranges) : ranges, texts);
    }
    case 'Quantifier':
      return quantified(element, texts);
    case 'Group':
      if (element.modifiers !== null) throw new PatternFault(`${element.raw} has no grammar`);
      return oneOf(element.alternatives.map((one) => sequence(one, texts)));
    case 'CapturingGroup':
      return oneOf(element.alternatives.map((one) => sequence(one, texts)));
    default:
      throw new PatternFault(`${element.raw} has no grammar`);
  }
}

const sequence = ({ elements }: { readonly elements: readonly AST.Element[] }, texts: Texts): string =>
  inOrder(...elements.map((one) => elementOf(one, texts))) || '""';

const isAnchor = (element: AST.Element | undefined, kind: 'start' | 'end'): boolean =>
  element?.type === 'Assertion' && element.kind === kind;

/** An alternative of the whole pattern: what is before and after it is free, unless it has anchors. */
function anchored({ elements }: AST.Alternative, anything: string, texts: Texts): string {
  const isFirst = isAnchor(elements[0], 'start');
  const isLast = isAnchor(elements.at(-1), 'end');
  const middle = elements.slice(isFirst ? 1 : 0, isLast ? -1 : undefined);
  const matched = middle.map((one) => elementOf(one, texts));
  return inOrder(isFirst ? '' : anything, ...matched, isLast ? '' : anything) || '""';
}

/**
 * The grammar of the characters of a text that match a regular expression (ECMA-262, as JSON Schema has it).
 * @param anything the grammar of any characters
 * @param texts how characters are written
 * @throws PatternFault for one that is wrong, or has what a grammar has not: look-around, back-references, boundaries
 *   within, and Unicode properties.
 */
export function patternGrammar(source: string, anything: string, texts: Texts): string {
  let pattern: AST.Pattern;
  try {
    try {
      pattern = parser.parsePattern(source, 0, source.length, { unicode: true });
    } catch {
      // Escapes such as "\-", which ECMA-262 takes without the flag only.
      pattern = parser.parsePattern(source, 0, source.length, { unicode: false });
    }
  } catch (error) {
    throw new PatternFault(`it is no regular expression: ${(error as Error).message.replace(/^.*: /, '')}`);
  }
  return oneOf(pattern.alternatives.map((one) => anchored(one, anything, texts)));
}
