/** The messages that ask a model for an answer to a row of any shape, or `null` if the row has no prompt. */
export function promptOf(
  item: Readonly<Record<string, unknown>>,
): { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[] | null {
  const { messages, prompt = messages, context, question, input = question } = item;
  if (Array.isArray(prompt)) {
    const told = prompt.filter(
      ({ role, content }) => ['system', 'user', 'assistant'].includes(role) && typeof content === 'string',
    );
    // The answer that is wanted is not told.
    const end = told.findLastIndex(({ role }) => role === 'user') + 1;
    return end === 0 ? null : told.slice(0, end).map(({ role, content }) => ({ role, content }));
  }
  const text = typeof prompt === 'string' ? prompt : input;
  if (typeof text !== 'string') return null;
  const content = typeof context === 'string' ? `${context}\n\n${text}` : text;
  return [{ role: 'user', content }];
}
