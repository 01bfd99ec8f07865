/**
 * A real model taught by a real one: SmolLM2-135M-Instruct learns to write dates as ISO dates from a model that was tuned
 * for it, by what that finds likely alone, in fewer steps than its teacher had.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { settingsForDates } from '../../src/demo/settings.ts';
import { datesTask } from '../../src/demo/task.ts';
import { train } from '../jobs/evaluating.ts';
import { journalOf } from '../jobs/journal.ts';
import { endAll, type Json, realModelMs, root, startService, type TestService } from '../service.ts';
import { realModel } from './real-model.ts';

const { questions, file, answerTokens } = datesTask(root);

let service: TestService;

test.before(async () => {
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
  await service.upload(file, readFileSync(join(root, 'examples', file)));
});
test.after(endAll);

async function score({ model_id }: Json): Promise<number> {
  let right = 0;
  for (const { prompt, isRight } of questions) {
    const asked = { model_id, prompt, max_length: answerTokens, temperature: 0, top_p: 1 };
    const { status, body } = await service.call('POST', '/api/playground/new', asked);
    assert.is(status, 200, JSON.stringify(body));
    right += isRight(body.generated_text) ? 1 : 0;
  }
  return right;
}

test('a student learns from its teacher what that has learned', async () => {
  const base = await realModel('smollm2');
  const request = {
    task: 'text-generation',
    model_name: base,
    dataset: file,
    ...settingsForDates,
    eval_split: 0.1,
  };
  const teacher = await train(service, request, realModelMs);
  const [model] = (await service.call('GET', '/api/catalog')).body.models;
  const taught = { ...request, strategy: 'distill', teacher: model.name, num_train_epochs: 2 };
  const student = await train(service, taught, realModelMs);
  assert.is(student.verification.passed, true);
  const told = journalOf(service.dataDir, student.job_id).filter(({ type }: Json) => type === 'eval');
  const [before, after] = [told[0], told.at(-1)].map(({ metrics }: Json) => metrics);
  const [ofTeacher, ofStudent] = [await score(teacher), await score(student)];
  const text = (name: string) => `${before[name].toFixed(3)} to ${after[name].toFixed(3)}`;
  console.log(`figure: divergence from the teacher on held-out rows ${text('divergence')}`);
  console.log(`figure: loss of held-out answers ${text('label_loss')}`);
  console.log(`figure: right answers of ${questions.length}: teacher ${ofTeacher}, student ${ofStudent}`);
  assert.ok(after.divergence < before.divergence / 4);
  assert.ok(ofStudent >= ofTeacher / 2, `${ofStudent} of ${ofTeacher}`);
});

test.run();
