import type { Line } from '../read-lines.ts';

/** Whether a line has a text in one of its values (not in the name of a field), in upper or lower case. */
export function rowSearch(search: string): (line: Line) => boolean {
  const wanted = search.toLowerCase();
  // As it is written within a line, unless its characters are escaped by their numbers, or slashes are.
  const written = JSON.stringify(wanted).slice(1, -1);
  const mayBeEscaped = (text: string) => text.includes('\\u') || text.includes('\\/');
  return ({ text, isCut }) => {
    const isWritten = text.toLowerCase().includes(written);
    if (isCut || (!isWritten && !mayBeEscaped(text))) return isWritten;
    try {
      return holds(JSON.parse(text), wanted);
    } catch {
      return text.toLowerCase().includes(wanted);
    }
  };
}

/** Whether a parsed value has `wanted` in a text or number at any depth; JSON may nest more than calls can. */
function holds(row: unknown, wanted: string): boolean {
  const left = [row];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) left.push(inner);
    } else if (String(value).toLowerCase().includes(wanted)) return true;
  }
  return false;
}
