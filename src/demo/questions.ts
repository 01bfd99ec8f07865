import { startBar } from '../client/bar.ts';
import type { Client } from '../client/http-client.ts';
import type { Question, Task } from './task.ts';

export interface Answer {
  readonly text: string;
  readonly right: boolean;
}

export interface Answered {
  readonly question: Question;
  readonly base: Answer;
  readonly tuned: Answer;
}

/** Asks the base model and the fine-tuned model every question of a task, with greedy decoding. */
export async function askAll(client: Client, modelId: string, task: Task): Promise<Answered[]> {
  const { questions, answerTokens } = task;
  const bar = startBar('Asking');
  let asked = 0;
  const ask = async (path: string, question: Question): Promise<Answer> => {
    const body = { model_id: modelId, prompt: question.prompt, max_length: answerTokens };
    const { generated_text: text } = await client.post<{ generated_text: string }>(path, {
      ...body,
      temperature: 0,
      top_p: 1,
    });
    asked += 1;
    bar.update(asked / (2 * questions.length), `${asked} of ${2 * questions.length} answers`);
    return { text, right: question.isRight(text) };
  };
  // One model after the other, because the service keeps the last one loaded.
  const tuned: Answer[] = [];
  for (const question of questions) tuned.push(await ask('/api/playground/new', question));
  const base: Answer[] = [];
  for (const question of questions) base.push(await ask('/api/playground/base', question));
  bar.end(`${asked} answers`);
  return questions.map((question, i) => ({
    question,
    base: base[i] as Answer,
    tuned: tuned[i] as Answer,
  }));
}
