/** New tokens on a real model: SmolLM2-135M-Instruct learns to put them around the dates that it writes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settingsForDates } from '../../src/demo/settings.ts';
import { datesTask } from '../../src/demo/task.ts';
import { train } from '../jobs/evaluating.ts';
import { endAll, realModelMs, root, startService, type TestService } from '../service.ts';
import { realModel } from './real-model.ts';

const { questions, file, answerTokens } = datesTask(root);
const tokens = ['<date>', '<end of date>'] as const;
/** Of 20 questions. */
const leastWrapped = 18;
const leastRight = 12;

let service: TestService;

test.before(async () => {
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
  const rows = readFileSync(join(root, 'examples', file), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { input: string; output: string })
    .map(({ input, output }) => JSON.stringify({ input, output: tokens.join(output) }));
  await service.upload(file, rows.join('\n'));
});
test.after(endAll);

test('answers use the new tokens, and each is one token', async () => {
  const { export: _, ...settings } = settingsForDates;
  const request = {
    ...{ task: 'text-generation', model_name: await realModel('smollm2'), dataset: file },
    ...settings,
    ...{ new_tokens: tokens, max_steps: 30, eval_split: 0.1 },
  };
  const job = await train(service, request, realModelMs);
  assert.is(job.verification.passed, true);
  assert.is(job.export.state, 'done');
  const { base, tuned } = job.verdict.loss;
  assert.ok(tuned < base / 4, JSON.stringify(job.verdict.loss));
  let [wrapped, right, written] = [0, 0, 0];
  for (const { prompt, isRight } of questions) {
    const asked = { model_id: job.model_id, prompt, max_length: answerTokens, temperature: 0, top_p: 1 };
    const { status, body } = await service.call('POST', '/api/playground/new', asked);
    assert.is(status, 200, JSON.stringify(body));
    const text: string = body.generated_text.trim();
    const [before, after] = tokens;
    const isWrapped = text.startsWith(before) && text.endsWith(after);
    wrapped += isWrapped ? 1 : 0;
    right += isWrapped && isRight(text.slice(before.length, -after.length)) ? 1 : 0;
    written += body.tokens_generated;
  }
  console.log(
    `figure: new tokens: held-out loss ${base.toFixed(3)} to ${tuned.toFixed(3)}, wrapped ${wrapped}, right ${right}, ${written} tokens`,
  );
  assert.ok(wrapped >= leastWrapped, `wrapped: ${wrapped}`);
  assert.ok(right >= leastRight, `right: ${right}`);
});

test.run();
