import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBar } from './bar.ts';
import type { Client } from './client.ts';

/** A held-out message, its team, and words that the reply must contain. */
export interface Question {
  readonly prompt: string;
  readonly team: string;
  readonly wording: string;
}

export interface Answer {
  readonly text: string;
  readonly right: boolean;
}

export interface Answered {
  readonly question: Question;
  readonly base: Answer;
  readonly tuned: Answer;
}

const answerTokens = 48;

export function readQuestions(installDir: string): Question[] {
  return JSON.parse(readFileSync(join(installDir, 'examples', 'support-questions.json'), 'utf8'));
}

/** An answer is correct if it names the team and contains the words; case and spacing are ignored. */
export function isRight(question: Question, text: string): boolean {
  const plain = (value: string) => value.toLowerCase().replace(/\s+/g, ' ');
  return plain(text).includes(plain(question.team)) && plain(text).includes(plain(question.wording));
}

/** Asks the base model and the fine-tuned model every question, with greedy decoding. */
export async function askAll(client: Client, modelId: string, questions: Question[]): Promise<Answered[]> {
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
    return { text, right: isRight(question, text) };
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
