import { open } from 'node:fs/promises';
import * as v from 'valibot';
import { type JournalLine, journalLine } from './protocol.ts';

/** A stretch of a journal: its complete lines, and the byte offset just after the last of them. */
export interface JournalChunk {
  readonly lines: JournalLine[];
  readonly offset: number;
}

/**
 * Reads the complete lines of a journal from byte `offset` on, at most about `maxBytes` of them. A line
 * that is still being written (no newline yet) is left for the next call; one that does not follow the
 * contract is passed to `onBadLine` and skipped. A line that ends the job (`done`, `failed`) comes alone,
 * so that the offset before it can be stored with the lines before it.
 */
export async function readJournal(
  path: string,
  offset: number,
  onBadLine: (text: string, reason: string) => void,
  maxBytes = 2 ** 22,
): Promise<JournalChunk> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { lines: [], offset };
    throw error;
  }
  try {
    const { size } = await file.stat();
    if (size <= offset) return { lines: [], offset };
    const buffer = Buffer.allocUnsafe(Math.min(size - offset, maxBytes));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
    const end = buffer.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (end < 0) return { lines: [], offset };
    const lines: JournalLine[] = [];
    let position = 0;
    while (position <= end) {
      const next = buffer.indexOf(0x0a, position);
      const text = buffer.toString('utf8', position, next);
      const line = text === '' ? null : parseLine(text);
      if (typeof line === 'string') onBadLine(text, line);
      else if (line !== null) {
        const ends = line.type === 'done' || line.type === 'failed';
        if (ends && lines.length > 0) break;
        lines.push(line);
        if (ends) {
          position = next + 1;
          break;
        }
      }
      position = next + 1;
    }
    return { lines, offset: offset + position };
  } finally {
    await file.close();
  }
}

function parseLine(text: string): JournalLine | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return (error as Error).message;
  }
  const result = v.safeParse(journalLine, value);
  return result.success ? result.output : v.summarize(result.issues);
}
