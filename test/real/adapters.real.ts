/** The other kinds of adapters on a real model: SmolLM2-135M-Instruct learns dates with each, as it does with LoRA. */
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
/** Of 20 questions: what the demo demands. */
const leastRight = 16;

let service: TestService;

test.before(async () => {
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
  await service.upload(file, readFileSync(join(root, 'examples', file)));
});
test.after(endAll);

/** Changes of the settings: all weights take a tenth of the rate, and learn the task in one pass. */
const ofKind: Record<string, object> = {
  dora: {},
  rslora: {},
  full: { learning_rate: 1e-4, num_train_epochs: 1, lora_r: undefined, lora_alpha: undefined },
};

for (const [adapter, changes] of Object.entries(ofKind)) {
  test(`${adapter} learns the task, and its file is verified and answers`, async () => {
    const { export: _, ...settings } = settingsForDates;
    const request = {
      ...{ task: 'text-generation', model_name: await realModel('smollm2'), dataset: file },
      ...settings,
      eval_split: 0.1,
      adapter,
      ...changes,
    };
    const job = await train(service, request, realModelMs);
    assert.is(job.verification.passed, true);
    assert.is(job.export.state, 'done');
    const { base, tuned } = job.verdict.loss;
    assert.ok(tuned < base / 4, JSON.stringify(job.verdict.loss));
    let right = 0;
    for (const { prompt, isRight } of questions) {
      const asked = { model_id: job.model_id, prompt, max_length: answerTokens, temperature: 0, top_p: 1 };
      const { status, body } = await service.call('POST', '/api/playground/new', asked);
      assert.is(status, 200, JSON.stringify(body));
      right += isRight(body.generated_text) ? 1 : 0;
    }
    console.log(
      `figure: ${adapter}: held-out loss ${base.toFixed(3)} to ${tuned.toFixed(3)}, right ${right}`,
    );
    assert.ok(right >= leastRight, `right: ${right}`);
  });
}

test.run();
