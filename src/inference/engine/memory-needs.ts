import { stat } from 'node:fs/promises';
import { aloneTokens } from '../batching/contexts.ts';
import { ggufBytes, readWholeGguf } from '../gguf/gguf.ts';

/** What a model takes in memory, in bytes. */
export interface Needs {
  readonly weights: number;
  /** Its first context. */
  readonly context: number;
}

const known = new Map<string, { size: number; changedMs: number; needs: Needs }>();

/** What the model in a file takes once it answers. @throws AppError as `readWholeGguf` does. */
export async function needsOf(path: string): Promise<Needs> {
  const stats = await stat(path).catch(() => null);
  const before = known.get(path);
  if (stats !== null && before?.size === stats.size && before.changedMs === stats.mtimeMs)
    return before.needs;
  const { cacheBytesPerToken, contextLength } = await readWholeGguf(path);
  const context = cacheBytesPerToken * Math.min(aloneTokens, contextLength ?? aloneTokens);
  const needs = { weights: await ggufBytes(path), context };
  if (stats !== null) known.set(path, { size: stats.size, changedMs: stats.mtimeMs, needs });
  return needs;
}
