import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readOptions } from '../../src/demo/options.ts';
import { isRight, readQuestions } from '../../src/demo/questions.ts';
import { renderTable } from '../../src/demo/table.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const question = { prompt: 'Where is it?', team: 'Shipping', wording: 'trace your parcel' };

test('an answer is right by team and wording, not by spaces and case', () => {
  assert.ok(isRight(question, 'Shipping: We will trace your parcel today.'));
  assert.ok(isRight(question, ' shipping:\n We will  TRACE your\nparcel'));
  assert.not(isRight(question, 'Shipping: We will send you a new one.'));
  assert.not(isRight(question, 'Returns: We will trace your parcel today.'));
  assert.not(isRight(question, ''));
});

test('no right answer to one question is right for another', () => {
  const questions = readQuestions(root);
  assert.is(questions.length, 10);
  for (const asked of questions) {
    const fitting = questions.filter((other) => isRight(asked, `${other.team}: ${other.wording}`));
    assert.equal(fitting, [asked]);
  }
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
});

test.run();
