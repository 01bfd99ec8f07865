import type { MarkdownIt, Token } from 'markdown-it';

/** A part of a text in Markdown: a string, or an element with what is in it. */
export type Markdown = string | MarkdownElement;

export interface MarkdownElement {
  /** The tag of HTML that it would be. */
  readonly tag: string;
  readonly children: readonly Markdown[];
  /** The target of a link: http, https or mailto. */
  readonly href?: string;
  /** The language of a block of code; empty if it has none. */
  readonly language?: string;
  /** The number of the first item of an ordered list. */
  readonly start?: number;
}

/** Reads Markdown; HTML in it is text. */
export type ReadMarkdown = (text: string) => readonly Markdown[];

const linked = /^(https?:|mailto:)/i;

let reader: Promise<ReadMarkdown> | null = null;

/** The reader, whose library is loaded when it is first asked for. Rejects if it cannot be loaded. */
export function markdownReader(): Promise<ReadMarkdown> {
  reader ??= load().catch((error: unknown) => {
    reader = null;
    throw error;
  });
  return reader;
}

async function load(): Promise<ReadMarkdown> {
  const { default: MarkdownIt } = await import('markdown-it');
  const library: MarkdownIt = MarkdownIt({ html: false, breaks: true });
  // An image would be fetched from wherever a model's answer says: it stays a link.
  library.disable('image');
  library.validateLink = (url) => linked.test(url);
  return (text) => treeOf(library.parse(text, {}));
}

/** The elements of a list of opening, closing and single tokens. */
function treeOf(tokens: readonly Token[]): Markdown[] {
  const root: Markdown[] = [];
  const open: { readonly token: Token; readonly children: Markdown[] }[] = [];
  for (const token of tokens) {
    const around = open.at(-1)?.children ?? root;
    if (token.nesting === 1) open.push({ token, children: [] });
    else if (token.nesting === 0) around.push(...single(token));
    else {
      const closed = open.pop();
      if (closed !== undefined)
        (open.at(-1)?.children ?? root).push(...element(closed.token, closed.children));
    }
  }
  return root;
}

function element(token: Token, children: Markdown[]): Markdown[] {
  // A paragraph of a list whose items stand close together.
  if (token.hidden) return children;
  const { tag } = token;
  if (tag === 'a') return [{ tag, children, href: String(token.attrGet('href') ?? '') }];
  const start = tag === 'ol' ? token.attrGet('start') : null;
  return [start === null ? { tag, children } : { tag, children, start: Number(start) }];
}

function single(token: Token): Markdown[] {
  const { type, content, children, info } = token;
  if (type === 'inline') return treeOf(children ?? []);
  if (type === 'softbreak' || type === 'hardbreak') return [{ tag: 'br', children: [] }];
  if (type === 'hr') return [{ tag: 'hr', children: [] }];
  if (type === 'code_inline') return [{ tag: 'code', children: [content] }];
  if (type === 'fence' || type === 'code_block')
    return [{ tag: 'pre', children: [content], language: info.trim().split(/\s+/)[0] ?? '' }];
  return content === '' ? [] : [content];
}
