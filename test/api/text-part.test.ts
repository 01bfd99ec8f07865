/** A multimodal model: its text part is trained, exported and asked, and everything says so before. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  type Json,
  quickRequest,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  untilEnded,
} from '../service.ts';

const note = 'The text part of this model is trained; images and sound are not.';
const seeing = join(temporaryFolder(), 'seeing');
let service: TestService;

test.before(async () => {
  execFileSync(
    join(root, 'trainer', '.venv', 'bin', 'python'),
    ['-m', 'trainer.tests.architectures.whole_models', 'gemma3-vision', seeing],
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

const check = async (model: string): Promise<Json> =>
  (await service.call('POST', '/api/base_models/check', { model })).body;

test('a check and an estimate tell what is trained, and count its weights alone', async () => {
  assert.equal(await check(seeing), { usable: true, problem: null, hub: null, notes: [note], adapter: null });
  const request = quickRequest({ model_name: seeing });
  const { body } = await service.call('POST', '/api/estimate', request);
  assert.ok(body.advice.includes(note), JSON.stringify(body.advice));
  // Embedding, six layers and a norm; the vision encoder has 45,000 more.
  assert.is(body.parameters, textWeights());
});

/** The weights of the text part, counted in the file's header. */
function textWeights(): number {
  const file = readFileSync(join(seeing, 'model.safetensors'));
  const length = Number(file.readBigUInt64LE());
  const header = JSON.parse(file.subarray(8, 8 + length).toString()) as Json;
  return Object.entries<Json>(header)
    .filter(([name]) => name.startsWith('language_model.'))
    .reduce(
      (sum, [, { shape }]) => sum + shape.reduce((product: number, size: number) => product * size, 1),
      0,
    );
}

test('it trains, and its GGUF answers', async () => {
  const request = quickRequest({ model_name: seeing, max_steps: 3, export: { quantizations: ['F16'] } });
  const started = await service.call('POST', '/api/start_training', request);
  assert.is(started.status, 200, JSON.stringify(started.body));
  assert.match(started.body.message, note);
  assert.is((await untilEnded(service)).status, 'completed');
  const job = (await service.call('GET', `/api/jobs/${started.body.job_id}`)).body;
  const kinds = job.artifacts.map(({ kind }: Json) => kind);
  for (const kind of ['adapter', 'gguf', 'adapter_gguf', 'mmproj']) assert.ok(kinds.includes(kind), kind);
  const vision = await fetch(`${service.url}/api/models/${job.model_id}/files/mmproj-F16.gguf`);
  assert.is(Buffer.from(await vision.arrayBuffer()).toString('latin1', 0, 4), 'GGUF');
  const answer = await service.call('POST', '/v1/chat/completions', {
    model: job.model_id,
    messages: [{ role: 'user', content: 'My parcel has not come.' }],
    max_tokens: 4,
    temperature: 0,
  });
  assert.is(answer.status, 200, JSON.stringify(answer.body));
});

test('rlhf needs a reward model, which no text part can be made into', async () => {
  const rows = Array.from({ length: 12 }, (_, index) => ({
    prompt: `Question ${index}`,
    chosen: 'Yes',
    rejected: 'No',
  }));
  await service.upload('pairs.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
  const request = quickRequest({ model_name: seeing, dataset: 'pairs.jsonl', strategy: 'rlhf' });
  const { status, body } = await service.call('POST', '/api/start_training', request);
  assert.is(status, 400);
  assert.match(JSON.stringify(body), 'A reward model cannot be made of the text part');
});

test('one without a text part of its own is refused at the check and at the start alike', async () => {
  const path = join(seeing, 'config.json');
  const config = JSON.parse(readFileSync(path, 'utf8'));
  try {
    const other = { ...config, architectures: ['BlipForConditionalGeneration'], model_type: 'blip' };
    writeFileSync(path, JSON.stringify({ ...other, text_config: { model_type: 'blip_text_model' } }));
    const { usable, problem } = await check(seeing);
    assert.is(usable, false);
    assert.match(problem.message, 'transformers has no language model for its text part');
    const started = await service.call('POST', '/api/start_training', quickRequest({ model_name: seeing }));
    assert.is(started.status, 400);
    assert.match(JSON.stringify(started.body), 'no language model for its text part');
    const { body } = await service.call('POST', '/api/estimate', quickRequest({ model_name: seeing }));
    assert.match(body.advice.join(' '), 'no language model for its text part');
  } finally {
    writeFileSync(path, JSON.stringify(config));
  }
});

test.run();
