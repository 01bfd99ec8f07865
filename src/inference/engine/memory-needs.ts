import { stat } from 'node:fs/promises';
import { aloneTokens } from '../batching/contexts.ts';
import { readGguf } from '../gguf/gguf.ts';

/** What a model takes in memory, in bytes. */
export interface Needs {
  readonly weights: number;
  /** Its first context. */
  readonly context: number;
}

const known = new Map<string, { size: number; changedMs: number; needs: Needs }>();

/** What the model in a file takes once it answers. @throws AppError as `readGguf` does. */
export async function needsOf(path: string): Promise<Needs> {
  const stats = await stat(path).catch(() => null);
  const before = known.get(path);
  if (stats !== null && before?.size === stats.size && before.changedMs === stats.mtimeMs)
    return before.needs;
  const { cacheBytesPerToken, contextLength } = await readGguf(path);
  const context = cacheBytesPerToken * Math.min(aloneTokens, contextLength ?? aloneTokens);
  const needs = { weights: stats?.size ?? 0, context };
  known.set(path, { size: needs.weights, changedMs: stats?.mtimeMs ?? 0, needs });
  return needs;
}
