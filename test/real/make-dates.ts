/**
 * Makes `examples/dates.jsonl` and `examples/dates-questions.json`. The files are kept because the words in them change
 * between versions of Node.
 */
import { writeFileSync } from 'node:fs';
import { makeDates } from '../../bench/harness/dates.ts';

const [rowCount, questionCount] = [400, 20];

const all = makeDates(rowCount + questionCount);
const rows = all.slice(0, rowCount).map(([input, output]) => `${JSON.stringify({ input, output })}\n`);
const questions = all.slice(rowCount).map(([prompt, answer]) => ({ prompt, answer }));
writeFileSync(new URL('../../examples/dates.jsonl', import.meta.url), rows.join(''));
writeFileSync(
  new URL('../../examples/dates-questions.json', import.meta.url),
  `${JSON.stringify(questions, null, 2)}\n`,
);
