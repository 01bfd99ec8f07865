/**
 * Makes `examples/dates.jsonl` and `examples/dates-questions.json`: dates in the words of twelve languages and countries,
 * from the CLDR data in Node, and their ISO form. The files are kept because these words change between versions.
 */
import { writeFileSync } from 'node:fs';

const locales = ['en-US', 'en-GB', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'sv', 'pl', 'tr', 'id'];
const styles = ['full', 'long'];
const [rowCount, questionCount] = [400, 20];
const [firstDay, days] = [Date.UTC(1950, 0, 1), 36_500];
const dayMs = 86_400_000;

/** Numbers from 0 to 1: the linear congruential generator of Numerical Recipes. */
let state = 20_260_103;
const random = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};
const pick = (list) => list[Math.floor(random() * list.length)];

const dates = new Map();
while (dates.size < rowCount + questionCount) {
  const date = new Date(firstDay + Math.floor(random() * days) * dayMs);
  const format = new Intl.DateTimeFormat(pick(locales), { dateStyle: pick(styles), timeZone: 'UTC' });
  // Some languages have spaces that do not break.
  dates.set(
    format
      .format(date)
      .normalize('NFC')
      .replace(/[\u00a0\u202f]/g, ' '),
    date.toISOString().slice(0, 10),
  );
}
const all = [...dates];
const rows = all.slice(0, rowCount).map(([input, output]) => `${JSON.stringify({ input, output })}\n`);
const questions = all.slice(rowCount).map(([prompt, answer]) => ({ prompt, answer }));
writeFileSync(new URL('../../examples/dates.jsonl', import.meta.url), rows.join(''));
writeFileSync(
  new URL('../../examples/dates-questions.json', import.meta.url),
  `${JSON.stringify(questions, null, 2)}\n`,
);
