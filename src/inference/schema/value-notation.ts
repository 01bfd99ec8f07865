import { literal } from './notation.ts';
import { numberGrammar } from './number-grammar.ts';

/** Code points, from the first to the last. */
export type Range = readonly [from: number, to: number];

/** How values are written: as JSON, or as the calls of a family of models have them. */
export interface ValueNotation {
  /** What is around a text. */
  readonly quote: string;
  /** Characters of texts that are written otherwise, and those that cannot be written or are among these. */
  readonly escapes: ReadonlyMap<number, string>;
  readonly special: readonly Range[];
  /** The grammar of any value, by the rules' names. */
  readonly rules: Readonly<Record<string, string>>;
  write(value: unknown): string;
  /** The name of a member as it is written; `null` if it cannot be. */
  nameOf(name: string, isTop: boolean): string | null;
  /** What the outermost object has around it and behind the names of its members; inner ones are as JSON's. */
  readonly top: readonly [open: string, close: string, colon: string];
  /** The rule of the outermost object's names. */
  readonly topName: string;
  /** Whether members are written by the alphabet. */
  readonly isSorted: boolean;
}

const number = numberGrammar(
  { least: null, most: null, isLeastExclusive: false, isMostExclusive: false },
  null,
) as string;
const surrogates: Range = [0xd800, 0xdfff];
const identifier = '[a-zA-Z_] [a-zA-Z0-9_]*';
const isPlain = (name: string) => /^[\w$.-]+(?: [\w$.-]+)*$/.test(name);

/** Any value. Where an alternative ends a recursion, it is among the last. */
const rulesOf = (quote: string, words: readonly string[], more: Readonly<Record<string, string>>) => ({
  text: `${literal(quote)} char* ${literal(quote)}`,
  name: 'text',
  value: `members | list | text | number | ${words.map(literal).join(' | ')}`,
  members: '"{" space (member ("," space member)*)? space "}"',
  member: 'name space ":" space value',
  list: '"[" space (value ("," space value)*)? space "]"',
  number,
  ...more,
});

const jsonEscapes: readonly (readonly [number, string])[] = [
  [0x22, '\\"'],
  [0x5c, '\\\\'],
  [0x0a, '\\n'],
  [0x0d, '\\r'],
  [0x09, '\\t'],
];

export const jsonNotation: ValueNotation = {
  quote: '"',
  escapes: new Map([...jsonEscapes, [0x08, '\\b'], [0x0c, '\\f']]),
  special: [[0, 0x1f], [0x22, 0x22], [0x5c, 0x5c], [0x7f, 0x7f], surrogates],
  rules: rulesOf('"', ['true', 'false', 'null'], {
    // White space is bounded, so that an answer comes to its end.
    space: '| " " | "\\n" " "{0,16}',
    char: '[^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})',
    // One character each, so that a length counts them.
    letter: '[^"\\\\\\x7F\\x00-\\x1F] | "\\\\" ["\\\\/bfnrt]',
  }),
  write: (value) => JSON.stringify(value),
  nameOf: (name) => JSON.stringify(name),
  top: ['{', '}', ':'],
  topName: 'name',
  isSorted: false,
};

const pythonWords = new Map<unknown, string>([
  [true, 'True'],
  [false, 'False'],
  [null, 'None'],
]);

function writePython(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writePython).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return pythonWords.get(value) ?? JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${writePython(one)}`);
  return `{${members.join(', ')}}`;
}

/** Python's, with the arguments of a function outermost. */
export const pythonNotation: ValueNotation = {
  ...jsonNotation,
  escapes: new Map(jsonEscapes),
  rules: rulesOf('"', [...pythonWords.values()], {
    space: '" "?',
    identifier,
    char: 'letter',
    letter: '[^"\\\\\\x7F\\x00-\\x1F] | "\\\\" ["\\\\nrt]',
  }),
  write: writePython,
  nameOf: (name, isTop) => (isTop ? (isPlain(name) ? name : null) : JSON.stringify(name)),
  top: ['(', ')', '='],
  topName: 'identifier',
};

/** Texts as they are between marks, without `<`, which the marks begin with. */
function marked(quote: string): ValueNotation {
  const nameOf = (name: string) => (isPlain(name) ? name : `${quote}${name}${quote}`);
  const write = (value: unknown): string => {
    if (typeof value === 'string') return `${quote}${value}${quote}`;
    if (Array.isArray(value)) return `[${value.map(write).join()}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return `{${byName(Object.entries(value)).map(([key, one]) => `${nameOf(key)}:${write(one)}`)}}`;
  };
  return {
    ...jsonNotation,
    quote,
    escapes: new Map(),
    special: [[0x3c, 0x3c], surrogates],
    write,
    nameOf,
    isSorted: true,
    rules: rulesOf(quote, ['true', 'false', 'null'], {
      space: '""',
      name: identifier,
      char: 'letter',
      letter: '[^<]',
    }),
  };
}

/** As templates order members: without regard to case. */
export const byName = <T>(entries: readonly (readonly [string, T])[]) =>
  entries.toSorted(([one], [other]) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1));

/** Gemma's, with its mark around texts. */
export const gemmaNotation = marked;
/** A text as it is. */
export const plainNotation = marked('');
