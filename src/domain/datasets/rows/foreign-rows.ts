import { foreignShapeOf } from './foreign-shape.ts';
import { parseOr } from './parse-or.ts';
import { readLines } from './read-lines.ts';
import { maximumLineBytes, type Validation } from './row-validator.ts';

/** The shape of rows that an import can convert, `columns` for unknown fields, or `null`. */
export async function foreignIn(path: string, validation: Validation): Promise<string | null> {
  const first = await firstRow(path);
  const isRow = typeof first === 'object' && first !== null && !Array.isArray(first);
  const foreign = isRow ? foreignShapeOf(first as Record<string, unknown>) : undefined;
  if (foreign !== undefined || validation.valid || !isRow) return foreign?.shape ?? null;
  return validation.shape === 'messages' ? 'openai-chat' : validation.shape === null ? 'columns' : null;
}

/** Whether it is known what the fields of rows mean. */
export const isForeign = (shape: string | null) => shape !== null && shape !== 'columns';

/** Whether the first row is a valid conversation that ends with the user, for an answer that its further columns grade. */
export async function isGradedPrompt(path: string): Promise<boolean> {
  const row = (await firstRow(path)) as Readonly<Record<string, unknown>> | null;
  if (!Array.isArray(row?.messages) || row.messages.at(-1)?.role !== 'user') return false;
  return Object.keys(row).some((name) => !['messages', 'tools', 'parallel_tool_calls'].includes(name));
}

async function firstRow(path: string): Promise<unknown> {
  for await (const { text } of readLines(path, maximumLineBytes)) {
    if (text.trim() !== '') return parseOr(text, null);
  }
  return null;
}
