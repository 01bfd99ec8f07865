import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A held-out question, and whether an answer to it is right. */
export interface Question {
  readonly prompt: string;
  readonly isRight: (text: string) => boolean;
}

/** What the demo teaches a model. */
export interface Task {
  /** Its rows, in `examples/`. */
  readonly file: string;
  /** What the rows are. */
  readonly rows: string;
  readonly questions: readonly Question[];
  /** The maximum number of tokens of an answer. */
  readonly answerTokens: number;
}

const readExample = <T>(installDir: string, name: string): T =>
  JSON.parse(readFileSync(join(installDir, 'examples', name), 'utf8')) as T;

/** Case and spacing are ignored. */
const plain = (text: string) => text.toLowerCase().replace(/\s+/g, ' ');

/** Customer messages. An answer is right if it names the team and has the words of its reply. */
export function supportTask(installDir: string): Task {
  type Row = { readonly prompt: string; readonly team: string; readonly wording: string };
  const questions = readExample<Row[]>(installDir, 'support-questions.json').map((row) => ({
    prompt: row.prompt,
    isRight: (text: string) => [row.team, row.wording].every((part) => plain(text).includes(plain(part))),
  }));
  return {
    file: 'support.jsonl',
    rows: 'customer messages, each with the right team and a reply',
    questions,
    answerTokens: 48,
  };
}

/** Dates in the words of twelve languages and countries. An answer is right if it is the date in ISO 8601. */
export function datesTask(installDir: string): Task {
  type Row = { readonly prompt: string; readonly answer: string };
  const questions = readExample<Row[]>(installDir, 'dates-questions.json').map(({ prompt, answer }) => ({
    prompt,
    isRight: (text: string) => text.trim() === answer,
  }));
  return {
    file: 'dates.jsonl',
    rows: 'dates in many languages, each with its ISO form',
    questions,
    answerTokens: 24,
  };
}
