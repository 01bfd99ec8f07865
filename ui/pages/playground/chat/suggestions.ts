/** A prompt like those that the model was trained on. */
export interface Suggestion {
  readonly prompt: string;
  readonly context: string;
}

const suggested = 3;
const longestSuggestion = 160;

/** The user's first message of a conversation. */
const firstQuestion = (messages: unknown): unknown =>
  Array.isArray(messages) ? messages.find((message) => message?.role === 'user')?.content : undefined;

/** Short inputs from the first rows of a dataset. */
export function suggestionsOf(rows: readonly unknown[]): readonly Suggestion[] {
  return rows
    .map((row) => {
      const fields = (typeof row === 'object' ? row : null) as Readonly<Record<string, unknown>> | null;
      const prompt = fields?.question ?? fields?.prompt ?? fields?.input ?? firstQuestion(fields?.messages);
      return {
        prompt: typeof prompt === 'string' ? prompt : '',
        context: typeof fields?.context === 'string' ? fields.context : '',
      };
    })
    .filter(({ prompt }) => prompt !== '' && prompt.length <= longestSuggestion)
    .slice(0, suggested);
}
