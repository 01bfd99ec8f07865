import { closeSync, openSync, readSync, statSync } from 'node:fs';
import * as v from 'valibot';
import type { JournalLine } from '../contract/journal.ts';
import { journalLine } from './protocol.ts';

/** A part of a journal: complete lines, and the byte offset after the last one. */
export interface JournalChunk {
  readonly lines: JournalLine[];
  readonly offset: number;
}

/**
 * Reads the complete lines of a journal from byte `offset`, at most about `maxBytes` of them. An incomplete line
 * (without a newline) is left for the next call. A line that violates the contract is passed to `onBadLine` and
 * skipped. A line that ends the job (`done`, `failed`) is returned alone, so that the offset before it can be stored
 * with the preceding lines. Reads synchronously: the data is small and in the page cache, and an asynchronous read
 * costs far more.
 */
export function readJournal(
  path: string,
  offset: number,
  onBadLine: (text: string, reason: string) => void,
  maxBytes = 2 ** 22,
): JournalChunk {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= offset) return { lines: [], offset };
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(Math.min(size - offset, maxBytes));
    const bytesRead = readSync(file, buffer, 0, buffer.length, offset);
    const end = buffer.subarray(0, bytesRead).lastIndexOf(0x0a);
    // A line may be longer than a part.
    if (end < 0 && bytesRead === maxBytes) return readJournal(path, offset, onBadLine, 4 * maxBytes);
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
    closeSync(file);
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
