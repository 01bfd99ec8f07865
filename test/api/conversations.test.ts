import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  type TestService,
  temporaryFolder,
  tinyModel,
  untilEnded,
} from '../service.ts';

let service: TestService;

const say = (role: string, content: string, weight?: number) => ({
  role,
  content,
  ...(weight === undefined ? {} : { weight }),
});
const lines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const teams = ['shipping', 'billing', 'access'];
const ask = (index: number) => say('user', `My parcel ${index} has not come.`);
const thanks = say('user', 'Where is my order?');
/** The first answer of the first conversation is wrong and must not be learned. */
const chats = Array.from({ length: 24 }, (_, index) => ({
  messages: [
    ask(index),
    index === 0 ? say('assistant', 'team: wrong', 0) : say('assistant', `team: ${teams[index % 3]}`, 1),
    thanks,
    say('assistant', 'invoice'),
  ],
}));
const request = (changes: Record<string, unknown>) =>
  quickRequest({ model_name: tinyModel('llama', 'chatml'), max_seq_length: 128, ...changes });

/** Enough for a model with random weights to learn these few sentences by heart. */
const thorough = { max_steps: 60, per_device_train_batch_size: 8, learning_rate: 0.01, eval_split: 0 };

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('chats.jsonl', lines(chats));
});
test.after(endAll);

test('the preview shows chat by chat what is learned', async () => {
  const { status, body } = await service.call('POST', '/api/datasets/chats.jsonl/preview', {
    task: 'text-generation',
    model_name: tinyModel('llama', 'chatml'),
    max_seq_length: 128,
    rows: 2,
  });
  assert.is(status, 200, JSON.stringify(body));
  assert.is(body.warning, null);
  const learned = body.rows.map(({ line, tokens }: Json) => [
    line,
    tokens.map(({ text, labelled }: Json) => (labelled ? text : '')).join(''),
  ]);
  assert.equal(learned, [
    [1, 'invoice<|im_end|>'],
    [2, 'team: billing<|im_end|>invoice<|im_end|>'],
  ]);
  assert.equal(
    body.rows[0].messages.map(({ role, learned }: Json) => [role, learned]),
    [
      ['user', false],
      ['assistant', false],
      ['user', false],
      ['assistant', true],
    ],
  );
});

test('the estimate says where conversations may become more sequences, and so steps', async () => {
  const steps = async (changes: Record<string, unknown>) =>
    (await service.call('POST', '/api/estimate', request({ dataset: 'chats.jsonl', ...changes }))).body.steps;
  const epochs = { max_steps: -1, num_train_epochs: 2, eval_split: 0 };
  assert.equal(await steps(epochs), { total: 24, at_least: true, held_out_rows: 0 });
  assert.equal(await steps({ max_steps: 5, eval_split: 0 }), { total: 5, at_least: false, held_out_rows: 0 });
});

test('a model trained on conversations answers by the turns before, in its own template', async () => {
  const start = await service.call(
    'POST',
    '/api/start_training',
    request({ dataset: 'chats.jsonl', ...thorough }),
  );
  assert.is(start.status, 200, JSON.stringify(start.body));
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  const job = (await service.call('GET', `/api/jobs/${start.body.job_id}`)).body;
  assert.ok(job.verification.passed, JSON.stringify(job.verification));
  assert.is(job.verification.tokens_equal, 1);
  const answer = async (messages: Json[]) => {
    const { status, body } = await service.call('POST', '/v1/chat/completions', {
      model: '1',
      messages,
      temperature: 0,
      max_tokens: 12,
    });
    assert.is(status, 200, JSON.stringify(body));
    return body.choices[0].message.content;
  };
  assert.match(await answer([ask(7)]), /^team: (shipping|billing|access)$/);
  assert.is(await answer([ask(7), say('assistant', 'team: billing'), thanks]), 'invoice');
});

test('a model trained on text continues it, and still has a template', async () => {
  const text = 'Hello, I was charged twice. My invoice is wrong. The card was refused.';
  await service.upload('texts.jsonl', lines(Array(24).fill({ text })));
  const { job_id } = (
    await service.call('POST', '/api/start_training', request({ dataset: 'texts.jsonl', ...thorough }))
  ).body;
  assert.is((await untilEnded(service)).status, 'completed');
  const job = (await service.call('GET', `/api/jobs/${job_id}`)).body;
  assert.ok(job.verification.passed, JSON.stringify(job.verification));
  const completed = await service.call('POST', '/v1/completions', {
    model: '2',
    prompt: 'Hello, I was charged',
    temperature: 0,
    max_tokens: 64,
  });
  assert.is(completed.body.choices?.[0].text, text.slice('Hello, I was charged'.length));
  const chat = { model: '2', messages: [thanks], max_tokens: 4 };
  assert.is((await service.call('POST', '/v1/chat/completions', chat)).status, 200);
});

test('what cannot be trained on conversations or text is told before anything is started', async () => {
  await service.upload('plain.jsonl', lines(Array(12).fill({ text: 'Once.' })));
  const start = (changes: Record<string, unknown>) =>
    service.call('POST', '/api/start_training', request(changes));
  const refused: [Record<string, unknown>, RegExp][] = [
    [
      { dataset: 'chats.jsonl', model_name: tinyModel('t5') },
      /T5ForConditionalGeneration reads one input and writes one output, so a conversation/,
    ],
    [
      { dataset: 'plain.jsonl', model_name: tinyModel('bart') },
      /BartForConditionalGeneration reads one input and writes one output, so it cannot be trained to continue text/,
    ],
    [
      { dataset: 'chats.jsonl', task: 'summarization' },
      /Line 1: missing required field "input" \(the row is of another shape: messages\)/,
    ],
    [
      { dataset: 'chats.jsonl', strategy: 'dpo' },
      /Line 1: missing required field "prompt" \(the row is of another shape: messages\)/,
    ],
  ];
  for (const [changes, message] of refused) {
    const { status, body } = await start(changes);
    assert.is(status, 400);
    assert.match(body.detail, message);
  }
});

test('a conversation that the template refuses is told by line, in the preview and at the start', async () => {
  const model = join(temporaryFolder(), 'strict');
  cpSync(tinyModel('llama', 'chatml'), model, { recursive: true });
  const strict = `{% for m in messages %}{% if loop.previtem is defined and loop.previtem.role == m.role %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;
  writeFileSync(join(model, 'chat_template.jinja'), strict);
  const twice = { messages: [ask(1), thanks, say('assistant', 'team: access')] };
  await service.upload('twice.jsonl', lines([...chats.slice(0, 12), twice]));
  const told = /Line 13 of the dataset: .*Conversation roles must alternate/;
  const preview = await service.call('POST', '/api/datasets/twice.jsonl/preview', {
    task: 'text-generation',
    model_name: model,
    max_seq_length: 128,
  });
  assert.is(preview.status, 400);
  assert.match(preview.body.detail, told);
  await service.call('POST', '/api/start_training', request({ dataset: 'twice.jsonl', model_name: model }));
  const ended = await untilEnded(service);
  assert.is(ended.status, 'error');
  assert.match(JSON.stringify(ended), told);
});

test.run();
