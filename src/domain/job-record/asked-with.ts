import { open } from 'node:fs/promises';
import type { Job } from './job.ts';

/** So much of a file of rows is read; the rows in it stand for the others. */
const readBytes = 65_536;
/** Some datasets have other tools in every row. */
const mostTools = 16;

/** A function that rows offer the model. */
interface RowTool {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description?: string | undefined;
    readonly parameters?: Record<string, unknown> | undefined;
  };
}

/** What the conversations that a job was trained on are asked with. */
export interface AskedWith {
  /** `null` if the first rows have none, or different ones, or their file is gone. */
  readonly systemPrompt: string | null;
  /** Those of the first rows, each name once; empty if they have none. */
  readonly tools: readonly RowTool[];
}

/** Reads it from the first rows of the job's dataset. */
export async function readAskedWith({ spec }: Job): Promise<AskedWith> {
  const rows = await firstRows((spec as { dataset?: { path?: unknown } } | null)?.dataset?.path);
  const systems = rows.map(systemOf);
  const [first = null] = systems;
  const tools = new Map<string, RowTool>();
  for (const tool of rows.flatMap(({ tools: given }) => given ?? []))
    if (tools.size < mostTools && !tools.has(tool.function.name)) tools.set(tool.function.name, asked(tool));
  return {
    systemPrompt: systems.every((system) => system === first) ? first : null,
    tools: [...tools.values()],
  };
}

interface Row {
  readonly messages?: readonly { readonly role?: unknown; readonly content?: unknown }[];
  readonly tools?: readonly RowTool[] | null;
}

async function firstRows(path: unknown): Promise<Row[]> {
  if (typeof path !== 'string') return [];
  const file = await open(path).catch(() => null);
  if (file === null) return [];
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(readBytes), 0, readBytes, 0);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    // The last line may be cut off.
    return (lines.length > 1 ? lines.slice(0, -1) : lines).filter(Boolean).map(rowOf);
  } finally {
    await file.close();
  }
}

function rowOf(line: string): Row {
  try {
    return JSON.parse(line) as Row;
  } catch {
    return {};
  }
}

function systemOf({ messages }: Row): string | null {
  const first = messages?.[0];
  return first?.role === 'system' && typeof first.content === 'string' ? first.content : null;
}

/** A tool as a request may have it: rows may say more of it. */
const asked = ({ type, function: { name, description, parameters } }: RowTool): RowTool => ({
  type,
  function: { name, description: description ?? undefined, parameters: parameters ?? undefined },
});
