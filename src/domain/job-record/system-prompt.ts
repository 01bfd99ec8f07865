import { open } from 'node:fs/promises';
import type { Job } from './job.ts';

/** So much of a file of rows is read; the rows in it stand for the others. */
const readBytes = 65_536;

/**
 * The system prompt of the conversations that a job was trained on.
 * @returns `null` if its first rows have none, or different ones, or their file is gone.
 */
export async function readSystemPrompt({ spec }: Job): Promise<string | null> {
  const path = (spec as { dataset?: { path?: unknown } } | null)?.dataset?.path;
  if (typeof path !== 'string') return null;
  const file = await open(path).catch(() => null);
  if (file === null) return null;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(readBytes), 0, readBytes, 0);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    // The last line may be cut off.
    const found = (lines.length > 1 ? lines.slice(0, -1) : lines).filter(Boolean).map(systemOf);
    const [first = null] = found;
    return found.every((system) => system === first) ? first : null;
  } finally {
    await file.close();
  }
}

function systemOf(line: string): string | null {
  try {
    const { messages } = JSON.parse(line) as { messages?: { role?: unknown; content?: unknown }[] };
    const first = messages?.[0];
    return first?.role === 'system' && typeof first.content === 'string' ? first.content : null;
  } catch {
    return null;
  }
}
