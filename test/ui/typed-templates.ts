/*
 * Types for what stands in Lit's templates: each expression, whether it is bound to a property, an attribute or an
 * event or stands between tags, is given the type that it must have (`satisfies`), in its place, so that the compiler
 * judges it and names its line.
 */

/** Declares `TemplateChild`, which the typed sources name, for the folder of the page. */
export const childDeclaration = `
import type { Child } from './elements/child.ts';
declare global {
  type TemplateChild = Child;
}
`;

/** An expression inside a tagged template, by its place in the source. */
interface Hole {
  readonly start: number;
  readonly end: number;
  /** The template's own text before it, with a space for each earlier expression. */
  readonly before: string;
}

/** The source with a type on every expression of its `html` templates; no line moves. */
export function typeTemplates(source: string): string {
  const inserts = findHoles(source).flatMap(({ start, end, before }) => [
    { at: start, text: '(' },
    { at: end, text: `) satisfies ${typeOf(before)}` },
  ]);
  let typed = source;
  for (const { at, text } of inserts.sort((a, b) => b.at - a.at)) {
    typed = typed.slice(0, at) + text + typed.slice(at);
  }
  return typed;
}

/** The type that an expression must have where it stands. */
function typeOf(before: string): string {
  const bound = /[\s"']([.?@]?)([\w-]+)=(?:"[^"]*|'[^']*|)$/.exec(before);
  const tag = [...before.matchAll(/<([a-z][a-z0-9-]*)/g)].at(-1)?.[1];
  const opened = tag === undefined ? '' : before.slice(before.lastIndexOf(`<${tag}`));
  if (tag === undefined || /^<[^"']*(?:(?:"[^"]*"|'[^']*')[^"']*)*>/.test(opened)) return 'TemplateChild';
  // Directives of an element stand alone in its tag; none is used here.
  if (bound === null) return 'never';
  const [, kind, name] = bound;
  if (kind === '.') return `HTMLElementTagNameMap['${tag}']['${name}']`;
  if (kind === '?') return 'boolean';
  if (kind === '@') return '((event: never) => unknown)';
  return '(string | number | boolean | symbol)';
}

function findHoles(source: string): Hole[] {
  const holes: Hole[] = [];
  scanCode(source, 0, holes);
  return holes;
}

/** Reads code up to the brace that closes it, or the end. @returns where that is. */
function scanCode(source: string, from: number, holes: Hole[]): number {
  let depth = 0;
  let at = from;
  while (at < source.length) {
    const two = source.slice(at, at + 2);
    const one = source[at] as string;
    if (two === '//') at = endOf(source, '\n', at);
    else if (two === '/*') at = endOf(source, '*/', at);
    else if (one === "'" || one === '"') at = afterString(source, at);
    else if (one === '`') at = scanTemplate(source, at, holes);
    else if (one === '/' && /(?:[(,=:[!&|?{};>+]|return)\s*$/.test(source.slice(Math.max(0, at - 40), at))) {
      at = afterRegExp(source, at);
    } else {
      if (one === '{') depth += 1;
      else if (one === '}') {
        if (depth === 0) return at;
        depth -= 1;
      }
      at += 1;
    }
  }
  return at;
}

/** Reads a template from its backtick. @returns the place after it. */
function scanTemplate(source: string, from: number, holes: Hole[]): number {
  const isHtml = source.slice(0, from).endsWith('html');
  let before = '';
  let at = from + 1;
  while (source[at] !== '`') {
    if (source[at] === '\\') {
      before += source.slice(at, at + 2);
      at += 2;
    } else if (source.startsWith('${', at)) {
      const start = at + 2;
      const end = scanCode(source, start, holes);
      if (isHtml) holes.push({ start, end, before });
      before += ' ';
      at = end + 1;
    } else {
      before += source[at];
      at += 1;
    }
    if (at >= source.length) throw new Error('A template does not end.');
  }
  return at + 1;
}

function endOf(source: string, mark: string, from: number): number {
  const found = source.indexOf(mark, from);
  return found < 0 ? source.length : found + mark.length;
}

function afterString(source: string, from: number): number {
  let at = from + 1;
  while (source[at] !== source[from]) at += source[at] === '\\' ? 2 : 1;
  return at + 1;
}

function afterRegExp(source: string, from: number): number {
  let isClass = false;
  let at = from + 1;
  while (isClass || source[at] !== '/') {
    if (source[at] === '[') isClass = true;
    else if (source[at] === ']') isClass = false;
    at += source[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}
