import { messageRoles } from '../../../contract/rows.ts';
import { halfCharacter, hasHalfCharacter, kindOf } from './kinds.ts';
import { callsFault, hasCalls } from './tool-rules.ts';

/**
 * The errors of a conversation for training; empty if it has none.
 * @param field its name in the row, for messages.
 */
export function conversationFaults(value: unknown, field: string): string[] {
  if (!Array.isArray(value)) return [`field "${field}" must be a list of messages, found ${kindOf(value)}`];
  if (value.length === 0) return [`field "${field}" has no messages`];
  const faults = messageFaults(value, field);
  const answers = value.filter((message) => message?.role === 'assistant');
  if (faults.length > 0) return faults;
  if (answers.length === 0) return [`field "${field}" has no message of the assistant to learn`];
  if (answers.every(({ weight }) => weight === 0))
    return [`field "${field}" has no message to learn: every message of the assistant has the weight 0`];
  return [];
}

/** The errors of the messages of a list, each with the field and its place. */
export function messageFaults(messages: readonly unknown[], field: string): string[] {
  const open = new Set<string>();
  return messages.flatMap((message, index) =>
    faultsOfMessage(message, open).map((fault) => `${field}[${index}]: ${fault}`),
  );
}

/** @param open see `callsFault`. */
function faultsOfMessage(value: unknown, open: Set<string>): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [`a message must be an object with role and content, found ${kindOf(value)}`];
  const message = value as Readonly<Record<string, unknown>>;
  const { role, content } = message;
  const calls = callsFault(message, open);
  if (calls !== null) return [calls];
  // Answers of OpenAI's that call tools have no content.
  const isCalling = (content === null || content === undefined) && hasCalls(message);
  return [
    roleFault(role),
    isCalling ? null : contentFault(content),
    reasoningFault(message),
    weightFault(message),
  ].filter((fault) => fault !== null);
}

function roleFault(role: unknown): string | null {
  if (messageRoles.some((known) => known === role)) return null;
  const found = typeof role === 'string' ? `"${role.slice(0, 40)}"` : kindOf(role ?? null);
  const advice = role === 'developer' ? '; importing the dataset turns developer into system' : '';
  return `role must be one of ${messageRoles.join(', ')}, found ${found}${advice}`;
}

function contentFault(content: unknown): string | null {
  if (typeof content === 'string') return hasHalfCharacter(content) ? `content ${halfCharacter}` : null;
  if (content === undefined) return 'missing required field "content"';
  const advice = Array.isArray(content) ? '; importing the dataset joins the text of its parts' : '';
  return `content must be a string, found ${kindOf(content)}${advice}`;
}

function reasoningFault(message: Readonly<Record<string, unknown>>): string | null {
  const { role, reasoning_content: reasoning } = message;
  if (reasoning === undefined || reasoning === null) return null;
  if (role !== 'assistant') return 'reasoning_content is only for messages of the assistant; remove it';
  if (typeof reasoning !== 'string') return `reasoning_content must be a string, found ${kindOf(reasoning)}`;
  return hasHalfCharacter(reasoning) ? `reasoning_content ${halfCharacter}` : null;
}

function weightFault({ role, weight }: Readonly<Record<string, unknown>>): string | null {
  if (weight === undefined || weight === null) return null;
  if (role !== 'assistant') return 'weight is only for messages of the assistant; remove it';
  return weight === 0 || weight === 1
    ? null
    : `weight must be 0 (not learned) or 1 (learned), found ${JSON.stringify(weight).slice(0, 40)}`;
}
