import { messageFaults } from './conversation-rules.ts';

/**
 * The errors of a list in a field of a preference or a prompt: `prompt` is a conversation up to the user's last message or the
 * results of tools, an answer is one message of the assistant. Empty if there are none.
 */
export function preferenceFaults(messages: readonly unknown[], field: string): string[] {
  const faults = messageFaults(messages, field);
  if (faults.length > 0) return faults;
  const turns = messages as readonly { readonly role: string; readonly weight?: number | null }[];
  const last = turns.at(-1);
  if (last === undefined) return [`field "${field}" has no messages`];
  if (field === 'prompt') {
    return last.role === 'user' || last.role === 'tool'
      ? []
      : [`field "prompt" must end with a message of the user, found one of the ${last.role}`];
  }
  if (turns.length > 1) {
    return [
      `field "${field}" must have one message, the answer, found ${turns.length}; move the others to "prompt"`,
    ];
  }
  if (last.role !== 'assistant')
    return [`field "${field}" must have a message of the assistant, found one of the ${last.role}`];
  return last.weight === 0
    ? [`field "${field}" has the weight 0, but answers of a preference are learned from; remove it`]
    : [];
}
