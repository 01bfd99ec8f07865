import { toolName, toolNameRule } from '../../../contract/rows.ts';
import { isDeeper, maximumDepth } from './depth.ts';
import { halfCharacter, hasHalfCharacter, kindOf } from './kinds.ts';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isAbsent = (value: unknown) =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0);
const isName = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';
const shown = (text: string) => JSON.stringify(text.slice(0, 60));

/** OpenAI's older names of the fields, which an import converts. */
const olderNames = { functions: 'tools', function_call: 'tool_calls' } as const;

function olderFault(entry: Fields): string | null {
  for (const [older, name] of Object.entries(olderNames))
    if (!isAbsent(entry[older])) return `"${older}" is not read; importing the dataset turns it into ${name}`;
  return null;
}

/** The errors of the tools of a row, which a conversation is offered; empty if it has none. */
export function toolsFaults(row: Fields): string[] {
  const older = olderFault(row);
  if (older !== null) return [older];
  const { tools, parallel_tool_calls: parallel } = row;
  const faults: string[] = [];
  if (parallel !== undefined && parallel !== null && typeof parallel !== 'boolean')
    faults.push(`field "parallel_tool_calls" must be true or false, found ${kindOf(parallel)}`);
  if (isAbsent(tools)) return faults;
  if (!Array.isArray(tools))
    return [...faults, `field "tools" must be a list of tools, found ${kindOf(tools)}`];
  const names = new Map<string, number>();
  tools.forEach((tool: unknown, index) => {
    const fault = toolFault(tool);
    const name = fault === null ? ((tool as Fields).function as { name: string }).name : '';
    if (fault !== null) faults.push(`tools[${index}]: ${fault}`);
    else if (names.has(name))
      faults.push(`tools[${index}]: the name ${shown(name)} is that of tools[${names.get(name)}], too`);
    else names.set(name, index);
  });
  return faults;
}

function toolFault(tool: unknown): string | null {
  if (!isObject(tool)) return `a tool must be an object with type and function, found ${kindOf(tool)}`;
  if (tool.type !== 'function') return 'type must be "function"';
  const described = tool.function;
  if (!isObject(described))
    return `function must be an object with a name, found ${kindOf(described ?? null)}`;
  const unnamed = nameFault(described.name);
  if (unnamed !== null) return unnamed;
  const { description, parameters } = described;
  if (!isAbsent(description) && typeof description !== 'string')
    return `description must be a string, found ${kindOf(description)}`;
  if (!isAbsent(parameters) && (!isObject(parameters) || (parameters.type ?? 'object') !== 'object'))
    return `parameters must be a JSON schema of the type "object", found ${isObject(parameters) ? `the type ${JSON.stringify(parameters.type).slice(0, 60)}` : kindOf(parameters)}`;
  return hasHalf(tool) ? halfCharacter : null;
}

/** A tool of another name could not be offered in a request. */
function nameFault(name: unknown): string | null {
  if (!isName(name)) return 'function has no name';
  return toolName.test(name) ? null : `the name ${shown(name)} ${toolNameRule}`;
}

/** Whether a message calls tools. */
export const hasCalls = (message: Fields): boolean => !isAbsent(message.tool_calls);

/**
 * The first error of a message's calls, or of what a tool said; `null` without one.
 * @param open the IDs of calls that no tool has answered; it is kept up to date.
 */
export function callsFault(message: Fields, open: Set<string>): string | null {
  const older = olderFault(message);
  if (older !== null) return older;
  if (message.role === 'function') return 'role "function": importing the dataset turns it into tool';
  if (message.role === 'tool') return resultFault(message, open);
  const { tool_calls: calls, role } = message;
  if (isAbsent(calls)) return null;
  if (role !== 'assistant') return 'tool_calls is only for messages of the assistant; remove it';
  if (!Array.isArray(calls)) return `tool_calls must be a list of calls, found ${kindOf(calls)}`;
  open.clear();
  for (const [index, call] of calls.entries()) {
    const fault = callFault(call) ?? (open.has(call.id) ? `the ID ${shown(call.id)} is used twice` : null);
    if (fault !== null) return `tool_calls[${index}]: ${fault}`;
    open.add(call.id);
  }
  return null;
}

function resultFault({ tool_call_id: id }: Fields, open: Set<string>): string | null {
  if (!isName(id)) return 'a message of a tool needs the tool_call_id of its call';
  return open.delete(id)
    ? null
    : `tool_call_id ${shown(id)} is that of no call in the message of the assistant before, or was answered already`;
}

function callFault(call: unknown): string | null {
  if (!isObject(call)) return `a call must be an object with id and function, found ${kindOf(call)}`;
  if (!isName(call.id)) return 'a call needs an id; importing the dataset adds it';
  if (call.type !== undefined && call.type !== 'function') return 'type must be "function"';
  const called = call.function;
  if (!isObject(called)) return `function must be an object with a name, found ${kindOf(called ?? null)}`;
  return nameFault(called.name) ?? argumentsFault(called.arguments) ?? (hasHalf(call) ? halfCharacter : null);
}

/** Templates get an object, or its text. */
function argumentsFault(given: unknown): string | null {
  if (isAbsent(given) || isObject(given)) return null;
  if (typeof given !== 'string') return `arguments must be JSON text of an object, found ${kindOf(given)}`;
  if (given.trim() === '') return null;
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch (error) {
    return `arguments are not JSON (${(error as Error).message.slice(0, 120)})`;
  }
  if (!isObject(value)) return `arguments must be JSON text of an object, found that of ${kindOf(value)}`;
  if (isDeeper(value, maximumDepth)) return `arguments are nested more than ${maximumDepth} levels deep`;
  return hasHalf(value) ? `arguments: ${halfCharacter}` : null;
}

/** Whether a text in a value has half a character. */
function hasHalf(value: unknown): boolean {
  if (typeof value === 'string') return hasHalfCharacter(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, inner]) => hasHalfCharacter(name) || hasHalf(inner));
}
