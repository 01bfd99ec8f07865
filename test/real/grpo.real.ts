/**
 * A real model learns from rewards alone: SmolLM2-135M-Instruct is to answer with JSON of a schema, and graders say how far it
 * does.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { train } from '../jobs/evaluating.ts';
import { endAll, type Json, realModelMs, startService, type TestService } from '../service.ts';
import { realModel } from './real-model.ts';

const names = [
  'Anna',
  'Bruno',
  'Chen',
  'Dana',
  'Emil',
  'Fatima',
  'Georg',
  'Hana',
  'Ivan',
  'Julia',
  'Karim',
  'Lena',
];
const towns = ['Oslo', 'Rome', 'Lima', 'Cairo'];
/** People, told in words. */
const rows = Array.from({ length: 48 }, (_, at) => {
  const [name, town, age] = [names[at % names.length], towns[at % towns.length], 20 + ((at * 7) % 50)];
  return {
    prompt: `${name} is ${age} years old and lives in ${town}. Answer with JSON that has name, age and town.`,
  };
});
const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' }, town: { type: 'string' } },
  required: ['name', 'age', 'town'],
  additionalProperties: false,
};
const graders = [
  { grader: { type: 'hone_json_schema', name: 'schema', schema } },
  { grader: { type: 'hone_regex', name: 'begins', pattern: '^\\{' }, weight: 0.2 },
];

let service: TestService;
let job: Json;

test.before(async () => {
  const base = await realModel('smollm2');
  service = await startService({ env: { OMP_NUM_THREADS: '2' } });
  await service.upload('people.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  job = await train(
    service,
    {
      task: 'text-generation',
      strategy: 'grpo',
      model_name: base,
      dataset: 'people.jsonl',
      graders,
      eval_split: 0.17,
      max_steps: 30,
      max_answer_tokens: 48,
      learning_rate: 5e-4,
      seed: 42,
      export: { quantizations: ['Q8_0'] },
    },
    realModelMs,
  );
});
test.after(endAll);

test('the answers to people that it has not seen become JSON of the schema', async () => {
  const { base, tuned } = job.verdict.metric;
  console.log(`figure: reward on held-out prompts ${base.toFixed(2)} to ${tuned.toFixed(2)} of 1.2`);
  assert.ok(tuned > 1 && tuned > base + 0.4, JSON.stringify(job.verdict.metric));
  assert.is(job.verification.passed, true);
});

test.run();
