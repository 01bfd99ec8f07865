/** A reader of GBNF, llama.cpp's notation of grammars, as far as ours have it: to write texts of a grammar, and to try some. */

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'class'; readonly ranges: readonly [number, number][]; readonly not: boolean }
  | { readonly kind: 'rule'; readonly name: string }
  | { readonly kind: 'sequence'; readonly parts: readonly Node[] }
  | { readonly kind: 'choice'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly least: number; readonly most: number };

export interface Grammar {
  /** Whether the whole text is one of the grammar's. */
  accepts(text: string): boolean;
  /** A text of the grammar. @param random from 0 to 1, as `Math.random` */
  write(random: () => number): string;
}

export function readGbnf(source: string): Grammar {
  const rules = new Map<string, Node>();
  for (const line of source.split('\n')) {
    const [, name = '', body = ''] = /^([\w-]+) ::= (.*)$/.exec(line) ?? [];
    if (name === '') throw new Error(`No rule: ${line}`);
    const tokens = [
      ...body.matchAll(/"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+(?:,\d*)?\}|[\w-]+|[()|*+?]/gs),
    ].map(([token]) => token);
    const left = body.replace(
      /"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+(?:,\d*)?\}|[\w-]+|[()|*+?\s]/gs,
      '',
    );
    if (left !== '') throw new Error(`Not read: ${left} in ${line}`);
    let at = 0;
    const choice = (): Node => {
      const parts = [sequence()];
      while (tokens[at] === '|') {
        at += 1;
        parts.push(sequence());
      }
      return parts.length === 1 ? (parts[0] as Node) : { kind: 'choice', parts };
    };
    const sequence = (): Node => {
      const parts: Node[] = [];
      while (at < tokens.length && tokens[at] !== '|' && tokens[at] !== ')') parts.push(repeat());
      return { kind: 'sequence', parts };
    };
    const repeat = (): Node => {
      const part = atom();
      const next = tokens[at] ?? '';
      if (!/^[*+?{]/.test(next)) return part;
      at += 1;
      if (/^[*+?{]/.test(tokens[at] ?? '')) throw new Error(`Repeated twice: ${line}`);
      if (next === '?') return { kind: 'repeat', part, least: 0, most: 1 };
      const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(next) ?? [];
      if (least === undefined) return { kind: 'repeat', part, least: next === '+' ? 1 : 0, most: Infinity };
      const upper = comma === '' ? Number(least) : most === '' ? Infinity : Number(most);
      if (upper !== Infinity && upper > 2000) throw new Error(`Too many repetitions: ${line}`);
      return { kind: 'repeat', part, least: Number(least), most: upper };
    };
    const atom = (): Node => {
      const token = tokens[at++] as string;
      if (token === '(') {
        const inner = choice();
        if (tokens[at++] !== ')') throw new Error(`Not closed: ${line}`);
        return inner;
      }
      if (token.startsWith('"')) return { kind: 'text', text: points(token.slice(1, -1)).join('') };
      if (token.startsWith('[')) return classOf(token.slice(1, -1));
      if (!/^[\w-]/.test(token)) throw new Error(`Unexpected ${token}: ${line}`);
      return { kind: 'rule', name: token };
    };
    rules.set(name, choice());
    if (at !== tokens.length) throw new Error(`Not read to the end: ${line}`);
  }

  const accepts = (text: string): boolean => {
    const letters = [...text];
    const known = new Map<string, ReadonlySet<number>>();
    const ends = (node: Node, from: number): ReadonlySet<number> => {
      switch (node.kind) {
        case 'text': {
          const own = [...node.text];
          return new Set(
            own.every((letter, index) => letters[from + index] === letter) ? [from + own.length] : [],
          );
        }
        case 'class': {
          const point = letters[from]?.codePointAt(0);
          if (point === undefined) return new Set();
          const isIn = node.ranges.some(([low, high]) => low <= point && point <= high);
          return new Set(isIn === node.not ? [] : [from + 1]);
        }
        case 'rule': {
          const key = `${node.name} ${from}`;
          const found = known.get(key);
          if (found !== undefined) return found;
          const rule = rules.get(node.name);
          if (rule === undefined) throw new Error(`No rule ${node.name}`);
          known.set(key, new Set());
          const result = ends(rule, from);
          known.set(key, result);
          return result;
        }
        case 'choice':
          return new Set(node.parts.flatMap((part) => [...ends(part, from)]));
        case 'sequence': {
          let now = new Set([from]);
          for (const part of node.parts) now = new Set([...now].flatMap((one) => [...ends(part, one)]));
          return now;
        }
        case 'repeat': {
          const all = new Set<number>(node.least === 0 ? [from] : []);
          let now = new Set([from]);
          for (let count = 1; count <= node.most && now.size > 0; count += 1) {
            const before = now;
            now = new Set([...now].flatMap((one) => [...ends(node.part, one)]));
            if (count >= node.least) {
              const fresh = [...now].filter((one) => !all.has(one));
              for (const one of fresh) all.add(one);
              if (fresh.length === 0 && count > node.least && [...now].every((one) => before.has(one))) break;
            }
          }
          return all;
        }
      }
    };
    return ends({ kind: 'rule', name: 'root' }, 0).has(letters.length);
  };

  const write = (random: () => number): string => {
    let written = 0;
    const make = (node: Node, depth: number): string => {
      written += 1;
      switch (node.kind) {
        case 'text':
          return node.text;
        case 'class': {
          if (node.not) {
            const isIn = (point: number) => node.ranges.some(([low, high]) => low <= point && point <= high);
            const wide = [0x41, 0x7a, 0x20, 0xe9, 0x4e2d, 0x1f642, 0x2f].filter((point) => !isIn(point));
            return String.fromCodePoint(wide[Math.floor(random() * wide.length)] as number);
          }
          const [low, high] = node.ranges[Math.floor(random() * node.ranges.length)] as [number, number];
          return String.fromCodePoint(low + Math.floor(random() * (high - low + 1)));
        }
        case 'rule':
          return make(rules.get(node.name) as Node, depth + 1);
        case 'choice': {
          // Deep in a recursion the last alternatives end it: they are the plain ones.
          const from = depth > 40 ? node.parts.length - 1 : Math.floor(random() * node.parts.length);
          return make(node.parts[from] as Node, depth);
        }
        case 'sequence':
          return node.parts.map((part) => make(part, depth)).join('');
        case 'repeat': {
          const spread = depth > 40 || written > 5000 ? 0 : Math.min(node.most - node.least, 4);
          const count = node.least + Math.floor(random() * (spread + 1));
          return Array.from({ length: count }, () => make(node.part, depth)).join('');
        }
      }
    };
    return make({ kind: 'rule', name: 'root' }, 0);
  };
  return { accepts, write };
}

/** The characters of a text with escapes. */
function points(text: string): string[] {
  return [
    ...text.matchAll(/\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\(.)|([^\\])/gsu),
  ].map(([, x, u, wide, escaped, plain]) => {
    const hex = x ?? u ?? wide;
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (plain !== undefined) return plain;
    const known: Record<string, string> = { n: '\n', r: '\r', t: '\t' };
    if (!/["\\[\]nrt]/.test(escaped as string)) throw new Error(`No such escape: \\${escaped}`);
    return known[escaped as string] ?? (escaped as string);
  });
}

function classOf(text: string): Node {
  const not = text.startsWith('^');
  const raw = [...(not ? text.slice(1) : text).matchAll(/\\x..|\\u....|\\U.{8}|\\.|./gsu)].map(
    ([one]) => one,
  );
  const ranges: [number, number][] = [];
  for (let index = 0; index < raw.length; index += 1) {
    const from = points(raw[index] as string)[0]?.codePointAt(0) as number;
    if (raw[index + 1] === '-' && index + 2 < raw.length) {
      ranges.push([from, points(raw[index + 2] as string)[0]?.codePointAt(0) as number]);
      index += 2;
    } else ranges.push([from, from]);
  }
  return { kind: 'class', ranges, not };
}
