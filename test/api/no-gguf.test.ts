/**
 * A model that llama.cpp cannot run: trained without a GGUF where nobody asked for one, which is said everywhere. It
 * answers all the same.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
  untilEnded,
} from '../service.ts';

let service: TestService;
const starts = ['/api/finetune/start_training', '/api/start_training'];

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

for (const [index, [kind, architecture]] of [
  ['t5', 'T5ForConditionalGeneration'],
  ['bart', 'BartForConditionalGeneration'],
].entries()) {
  test(`${kind} with no export given trains, and says that it gets no GGUF`, async () => {
    const request = quickRequest({ model_name: tinyModel(kind as string), max_steps: 3 });
    const estimated = await service.call('POST', '/api/estimate', request);
    assert.is(estimated.status, 200);
    assert.match(
      estimated.body.advice.join(' '),
      `no GGUF file: llama.cpp cannot run the architecture ${architecture}`,
    );
    const started = await service.call('POST', starts[index] as string, request);
    assert.is(started.status, 200, JSON.stringify(started.body));
    assert.match(
      started.body.message,
      `started. There will be an adapter and no GGUF file: llama.cpp cannot`,
    );
    const ended = await untilEnded(service);
    assert.is(ended.status, 'completed', JSON.stringify(ended));
    const { job_id: id } = started.body;
    const journal = readFileSync(join(service.dataDir, 'jobs', id, 'journal.jsonl'), 'utf8')
      .trim()
      .split('\n');
    const warning = journal.map((line) => JSON.parse(line)).find(({ code }) => code === 'no_gguf');
    assert.match(warning?.message ?? '', architecture as string);
    const job = (await service.call('GET', `/api/jobs/${id}`)).body;
    assert.equal(job.quantizations, [], 'the record tells what is made');
    assert.is(job.export.state, 'skipped');
    assert.equal(job.artifacts.map((one: Json) => one.kind).sort(), ['adapter', 'template']);
    const { events } = (await service.call('GET', `/api/jobs/${id}/events`)).body;
    assert.ok(events.some((event: Json) => event.code === 'no_gguf'));
    assert.is((await service.call('GET', `/api/models/${job.model_id}`)).status, 200);
  });
}

const prompt = 'My parcel has not come.';
const greedy = { temperature: 0 };

test('every route answers with such a model, its base and its checkpoints', async () => {
  const listed = (await service.call('GET', '/v1/models')).body.data.map((one: Json) => one.id);
  const stored = (await service.call('GET', '/api/models/')).body;
  assert.is(listed.length, 2);
  for (const [index, kind] of ['t5', 'bart'].entries()) {
    const { model_id } = stored.find(({ name }: Json) => name.startsWith(kind));
    const name = listed.find((one: string) => one.startsWith(kind));
    const flat = await service.call('POST', '/api/playground/generate', {
      ...{ model_id: index + 1, prompt, max_new_tokens: 8, ...greedy },
    });
    assert.is(flat.status, 200, JSON.stringify(flat.body));
    const text = flat.body.generated_text;
    const finetune = { model_id, prompt, max_length: 8, ...greedy };
    const same = await service.call('POST', '/api/playground/new', finetune);
    assert.is(same.body.generated_text, text);
    const chat = {
      model: name,
      messages: [{ role: 'user', content: prompt }],
      max_tokens: 8,
      ...greedy,
    };
    const whole = await service.call('POST', '/v1/chat/completions', chat);
    assert.is(whole.body.choices[0].message.content, text);
    assert.ok(whole.body.usage.prompt_tokens > 0);
    const raw = { model: name, prompt, max_tokens: 8, ...greedy };
    assert.is((await service.call('POST', '/v1/completions', raw)).body.choices[0].text, text);
    const last = await service.call('POST', '/v1/chat/completions', { ...chat, checkpoint: 3 });
    assert.is(last.body.choices?.[0].message.content, text, JSON.stringify(last.body));
    const streamed = await service.call('POST', '/v1/chat/completions', { ...chat, stream: true });
    const pieces = [...String(streamed.body).matchAll(/"content":("(?:[^"\\]|\\.)*")/g)];
    assert.is(pieces.map(([, piece]) => JSON.parse(piece as string)).join(''), text);
    assert.match(streamed.body, 'data: [DONE]');
    assert.is((await service.call('POST', '/api/playground/base', finetune)).status, 200);
    const path = await service.call('GET', `/api/playground/model_path?model_id=${model_id}`);
    assert.match(path.body.model_path, /adapter$/);
  }
});

test('what such a model cannot read is refused in the format of each route', async () => {
  const system = { role: 'system', content: 'Be brief.' };
  const chat = { model: '1', messages: [system, { role: 'user', content: prompt }] };
  const conversation = await service.call('POST', '/v1/chat/completions', chat);
  assert.is(conversation.status, 400);
  assert.match(conversation.body.error.message, 'one input and writes one answer');
  const long = { model_id: 1, prompt: 'word '.repeat(3000), max_new_tokens: 4 };
  const told = await service.call('POST', '/api/playground/generate', long);
  assert.is(told.status, 400);
  assert.match(JSON.stringify(told.body), /has \d+ tokens, but the model's context holds 256/);
});

test('such a model is not deleted while it answers', async () => {
  const { model_id } = (await service.call('GET', '/api/models/')).body.find(({ name }: Json) =>
    name.startsWith('bart'),
  );
  const file = join(service.dataDir, 'model_checkpoints', model_id, 'template.json');
  const template = readFileSync(file);
  rmSync(file);
  // The service reads it, then the process that answers when it loads the model; both wait until somebody writes it.
  execFileSync('mkfifo', [file]);
  const answer = service.call('POST', '/api/playground/new', { model_id, prompt, max_length: 4, ...greedy });
  await writeFile(file, template);
  const pending = async () => (await service.call('GET', '/api/playground/figures')).body;
  await until(async () => {
    const { running, waiting } = await pending();
    return running + waiting === 1;
  }, 'it was asked');
  const path = `/api/models/${model_id}`;
  const refused = await service.call('DELETE', path);
  assert.is(refused.status, 409, JSON.stringify(refused.body));
  assert.match(JSON.stringify(refused.body), 'is generating text in the playground. Wait until it has');
  await writeFile(file, template);
  assert.is((await answer).status, 200);
  assert.is((await service.call('DELETE', path)).status, 200);
  assert.is((await service.call('GET', path)).status, 404);
});

test('types that somebody asks for are refused with the reason', async () => {
  const request = quickRequest({ model_name: tinyModel('t5'), export: { quantizations: ['Q4_K_M'] } });
  for (const path of starts) {
    const answer = await service.call('POST', path, request);
    assert.is(answer.status, 400);
    assert.match(
      JSON.stringify(answer.body),
      /llama.cpp cannot run the architecture T5.*Leave \\"export\\" out/,
    );
  }
  const [issue] = (await service.call('POST', starts[0] as string, request)).body.detail;
  assert.equal(issue.loc, ['body', 'export']);
  const { advice } = (await service.call('POST', '/api/estimate', request)).body;
  assert.match(advice.join(' '), 'There can be no GGUF file: llama.cpp cannot run the architecture T5');
});

test.run();
