import { toolName, toolNameRule } from '../../../src/contract/rows.ts';
import type { Ask } from '../../api/generate.ts';
import { jsonEnd } from '../json-end.ts';

export type Tools = NonNullable<Ask['tools']>;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Tools as they are written. */
export const writtenTools = (tools: readonly object[]): string =>
  tools.length === 0 ? '' : JSON.stringify(tools, null, 2);

/** Reads tools from a text: what is wrong with it, by its line or field; the service checks the schemas. */
export function readTools(text: string): { readonly tools: Tools; readonly fault: string | null } {
  if (text.trim() === '') return { tools: [], fault: null };
  const end = jsonEnd(text);
  if (end !== null) {
    const line = text.slice(0, end).split('\n').length;
    const what =
      end === text.length ? 'the JSON is not complete' : `no JSON from “${text.slice(end, end + 12)}” on`;
    return { tools: [], fault: `Line ${line}: ${what}.` };
  }
  const value: unknown = JSON.parse(text);
  const fault = toolsFault(value);
  return { tools: fault === null ? (value as Tools) : [], fault };
}

function toolsFault(value: unknown): string | null {
  if (!Array.isArray(value)) return 'Tools are a list: [{"type": "function", "function": {…}}].';
  const names = new Set<unknown>();
  for (const [index, tool] of value.entries()) {
    const fault = toolFault(tool, names);
    if (fault !== null) return `tools[${index}]${fault}.`;
    names.add(tool.function.name);
  }
  return null;
}

function toolFault(tool: unknown, names: ReadonlySet<unknown>): string | null {
  if (!isObject(tool)) return ' must be an object';
  if (tool.type !== 'function') return '.type must be "function"';
  if (!isObject(tool.function)) return '.function must be an object with a name';
  const { name, parameters } = tool.function;
  if (typeof name !== 'string' || !toolName.test(name)) return `.function.name ${toolNameRule}`;
  if (names.has(name)) return `.function.name is that of another tool`;
  return parameters == null || isObject(parameters) ? null : '.function.parameters must be a JSON schema';
}
