import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readOptions } from '../../src/demo/options.ts';
import { renderTable } from '../../src/demo/table.ts';
import { datesTask, supportTask } from '../../src/demo/task.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const question = { prompt: 'Where is it?', isRight: () => false };

test('an answer is right by team and wording, not by spaces and case', () => {
  const asked = supportTask(root).questions.find(({ prompt }) => prompt.startsWith('My bank says'));
  assert.ok(asked?.isRight('Billing: We will refund the second charge.'));
  assert.ok(asked?.isRight(' billing:\n We will  REFUND the\nsecond charge'));
  assert.not(asked?.isRight('Billing: We will mail you the invoice.'));
  assert.not(asked?.isRight('Returns: We will refund the second charge.'));
  assert.not(asked?.isRight(''));
});

test('no right answer to one question is right for another', () => {
  const { questions } = supportTask(root);
  const rows = JSON.parse(readFileSync(join(root, 'examples', 'support-questions.json'), 'utf8'));
  assert.is(questions.length, 10);
  for (const { prompt, team, wording } of rows) {
    const fitting = questions.filter((other) => other.isRight(`${team}: ${wording}`));
    assert.equal(
      fitting.map((other) => other.prompt),
      [prompt],
    );
  }
});

test('the questions about dates are not among the rows, and only the ISO date is right', () => {
  const { questions, file } = datesTask(root);
  const rows = readFileSync(join(root, 'examples', file), 'utf8')
    .trimEnd()
    .split('\n');
  const inputs = new Set(rows.map((row) => JSON.parse(row).input));
  assert.is(rows.length, 400);
  assert.is(questions.length, 20);
  for (const { prompt, isRight } of questions) {
    assert.not(inputs.has(prompt), prompt);
    assert.not(isRight(prompt));
  }
  const july = questions.find(({ isRight }) => isRight('1951-07-20'));
  assert.ok(july?.isRight(' 1951-07-20\n'));
  assert.not(july?.isRight('1951-07-20 is the date'));
});

test('the table shows both answers side by side and fits the terminal', () => {
  const row = {
    question,
    base: { text: 'The depot\nwas calm. '.repeat(9), right: false },
    tuned: { text: 'Shipping: We will trace your parcel today.', right: true },
  };
  const lines = renderTable([row], 80).split('\n');
  const answers = lines.find((line) => line.includes('✓')) as string;
  assert.match(answers, /✗ The depot was calm\..*… │ ✓ Shipping: /);
  assert.ok(lines.every((line) => [...line].length <= 80));
});

test('options are read, and wrong ones refused with what was wrong', () => {
  const env = { SERVICE_DATA_DIR: '/data', HONE_INSTALL_DIR: root };
  assert.is(readOptions([], env).model, null);
  assert.is(readOptions(['--model', 'owner/name', '--port', '9001'], env).port, 9001);
  assert.is(readOptions([], env).dataDir, join('/data'));
  assert.throws(() => readOptions(['--model', '../x'], env), /owner\/name/);
  assert.throws(() => readOptions(['--port', '70000'], env), /65535/);
  assert.throws(() => readOptions(['--modle', 'a/b'], env));
  assert.ok(readOptions(['--real'], env).real);
  assert.throws(() => readOptions(['--real', '--model', 'a/b'], env), /leave out/);
});

test.run();
