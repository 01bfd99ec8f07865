import type { DocumentPage } from './documents.ts';

/** A part of one page, which a model is asked about. */
export interface Passage {
  /** The name of the document. */
  readonly file: string;
  /** `null` where the format has no pages. */
  readonly page: number | null;
  readonly text: string;
}

/** In shorter texts, such as headings, there is nothing to ask about. */
const shortestCharacters = 40;
/** Where a text is best divided, the best first. */
const boundaries = ['\n\n', '\n', '. ', ' '];

/** A text in parts of nearly equal length, of at most so many characters, divided between paragraphs if possible. */
function divided(text: string, mostCharacters: number): string[] {
  const parts: string[] = [];
  let rest = text.trim();
  while (rest.length > mostCharacters) {
    const wanted = Math.ceil(rest.length / Math.ceil(rest.length / mostCharacters));
    const least = Math.floor(wanted / 2);
    const most = Math.min(mostCharacters, Math.ceil(wanted * 1.2));
    const ends = boundaries.map(
      (boundary) => rest.lastIndexOf(boundary, most - boundary.length) + boundary.length,
    );
    let end = ends.find((place, at) => place - (boundaries[at] as string).length >= least) ?? most;
    // Not between the halves of a character.
    if (/[\ud800-\udbff]/.test(rest[end - 1] as string)) end -= 1;
    parts.push(rest.slice(0, end).trim());
    rest = rest.slice(end).trim();
  }
  return [...parts, rest];
}

/** The passages of a document, in their order. None goes beyond its page. */
export const passagesOf = (file: string, pages: readonly DocumentPage[], mostCharacters: number): Passage[] =>
  pages.flatMap(({ page, text }) =>
    divided(text ?? '', mostCharacters)
      .filter(({ length }) => length >= shortestCharacters)
      .map((part) => ({ file, page, text: part })),
  );
