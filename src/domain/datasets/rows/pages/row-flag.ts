import { createHash } from 'node:crypto';

/** What flags a row: equal lines are flagged together, whatever is between them. */
export const rowFlag = (line: string): string => createHash('sha1').update(line.trim()).digest('hex');

export const isFlagged = ({ text }: { readonly text: string }, flags: ReadonlySet<string>): boolean =>
  flags.size > 0 && flags.has(rowFlag(text));
