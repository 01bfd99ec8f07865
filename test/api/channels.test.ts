/** A gpt-oss that is trained on reasoning writes it in a channel of its own, which is returned beside the answer. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import OpenAI from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  root,
  startService,
  type TestService,
  temporaryFolder,
  untilEnded,
} from '../service.ts';

let service: TestService;
let base: string;
const rows = [
  { asked: 'My parcel has not come.', thought: 'A parcel.', answer: 'team: shipping' },
  { asked: 'I was charged twice.', thought: 'Money.', answer: 'team: billing' },
];
const settings = {
  ...{
    task: 'text-generation',
    dataset: 'thoughts.jsonl',
    seed: 1,
    device: 'cpu',
    use_4bit: false,
    bf16: false,
  },
  ...{ max_steps: 80, per_device_train_batch_size: 12, gradient_accumulation_steps: 1, warmup_ratio: 0 },
  ...{ learning_rate: 0.01, lora_r: 16, lora_alpha: 32, lora_dropout: 0, max_seq_length: 128 },
  lr_scheduler_type: 'linear',
};

test.before(async () => {
  base = join(temporaryFolder(), 'base');
  execFileSync(
    join(root, 'trainer', '.venv', 'bin', 'python'),
    ['-m', 'trainer.tests.architectures.toys', 'gpt-oss', base, '--template', 'channels'],
    {
      cwd: root,
      env: { ...process.env, PYTHONPATH: root, OMP_NUM_THREADS: '1', TQDM_DISABLE: '1' },
      stdio: 'ignore',
    },
  );
  service = await startService({ warm: true });
  const lines = Array.from({ length: 24 }, (_, index) => {
    const { asked, thought, answer } = rows[index % 2] as (typeof rows)[number];
    const said = { role: 'assistant', content: answer, reasoning_content: thought };
    return JSON.stringify({ messages: [{ role: 'user', content: asked }, said] });
  });
  await service.upload('thoughts.jsonl', `${lines.join('\n')}\n`);
});
test.after(endAll);

/** Trains the base. @returns how the new model answers the first question, in full. */
async function train(changes: Json) {
  const started = await service.call('POST', '/api/start_training', {
    ...{ ...settings, model_name: base },
    ...changes,
  });
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.is((await untilEnded(service)).status, 'completed');
  const job: Json = (await service.call('GET', `/api/jobs/${started.body.job_id}`)).body;
  return async (asked: Json = {}) => {
    const answer = await service.call('POST', '/v1/chat/completions', {
      ...{ model: job.model_id, temperature: 0, max_tokens: 48 },
      messages: [{ role: 'user', content: rows[0]?.asked }],
      ...asked,
    });
    assert.is(answer.status, 200, JSON.stringify(answer.body));
    return {
      ...answer.body.choices[0].message,
      prompt: answer.body.usage.prompt_tokens,
      model: job.model_id,
    };
  };
}

test('reasoning and answer come apart, in full, in a stream and over several turns', async () => {
  const { dataset: _, ...shown } = { ...settings, model_name: base };
  const preview = await service.call('POST', '/api/datasets/thoughts.jsonl/preview', { ...shown, rows: 1 });
  assert.is(preview.body.thinking, 'learn', JSON.stringify(preview.body));
  assert.is(preview.body.rows[0].messages[1].reasoning, 'A parcel.');
  const ask = await train({ export: { quantizations: ['F16'] } });
  const first = await ask();
  assert.equal(
    [first.content, first.reasoning_content],
    ['team: shipping', 'A parcel.'],
    JSON.stringify(first),
  );

  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: rows[1]?.asked ?? '' }];
  const streamed = { content: '', reasoning_content: '' };
  const stream = await client.chat.completions.create({
    ...{ model: first.model, messages, temperature: 0, max_tokens: 48, stream: true as const },
  });
  for await (const { choices } of stream) {
    const delta: Json = choices[0]?.delta ?? {};
    streamed.content += delta.content ?? '';
    streamed.reasoning_content += delta.reasoning_content ?? '';
  }
  assert.equal(streamed, { content: 'team: billing', reasoning_content: 'Money.' });

  // The prompt begins the final channel.
  const off = await ask({ reasoning_effort: 'none' });
  assert.ok(off.prompt > first.prompt);
  // The template drops the reasoning of an earlier answer.
  const counts = [];
  for (const thought of [undefined, 'A parcel.']) {
    const said = { role: 'assistant', content: 'team: shipping', reasoning_content: thought };
    const next = { role: 'user', content: 'Thanks.' };
    counts.push((await ask({ messages: [...messages, said, next] })).prompt);
  }
  assert.is(counts[0], counts[1]);
});

test('with thinking off the answer alone is trained and returned, also without a GGUF file', async () => {
  const ask = await train({ thinking: 'off', export: 'none' });
  const answer = await ask();
  assert.equal(
    [answer.content, 'reasoning_content' in answer],
    ['team: shipping', false],
    JSON.stringify(answer),
  );
  const asked = await ask({ reasoning_effort: 'high' });
  assert.ok(asked.prompt < answer.prompt, 'the prompt does not begin the final channel');
});

test('a model without a GGUF file has channels, too', async () => {
  const ask = await train({ export: 'none' });
  const first = await ask();
  assert.equal(
    [first.content, first.reasoning_content],
    ['team: shipping', 'A parcel.'],
    JSON.stringify(first),
  );
  assert.ok((await ask({ reasoning_effort: 'none' })).prompt > first.prompt);
});

test.run();
