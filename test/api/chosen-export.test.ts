/** A model is exported at a strength of its adapter, from a checkpoint, and as it was trained again. */
import { existsSync, readFileSync } from 'node:fs';
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
let modelId: string;
/** The most likely first tokens of an answer, with the natural logarithms of their probabilities. */
type Likely = ReadonlyMap<string, number>;

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  const changes = {
    max_steps: 12,
    save_steps: 4,
    save_total_limit: 3,
    learning_rate: 0.02,
    export: { quantizations: ['F16'] },
  };
  await service.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: tinyModel('qwen3', 'chatml'), ...changes }),
  );
  assert.is((await untilEnded(service)).status, 'completed');
  modelId = (await service.call('GET', '/api/jobs/train_1')).body.model_id;
});
test.after(endAll);

async function likely(more: object): Promise<Likely> {
  const { status, body } = await service.call('POST', '/v1/chat/completions', {
    ...{ model: modelId, messages: [{ role: 'user', content: 'My parcel has not come.' }] },
    ...{ max_tokens: 1, temperature: 0, logprobs: true, top_logprobs: 5, ...more },
  });
  assert.is(status, 200, JSON.stringify(body));
  const { top_logprobs: top } = body.choices[0].logprobs.content[0];
  return new Map(top.map(({ token, logprob }: Json) => [token, logprob]));
}

/** The greatest difference of the tokens that both have; without any, they have nothing in common. */
function difference(one: Likely, other: Likely): number {
  const shared = [...one].filter(([token]) => other.has(token));
  if (shared.length < 3) return Number.POSITIVE_INFINITY;
  return Math.max(...shared.map(([token, value]) => Math.abs(value - (other.get(token) ?? 0))));
}

async function choose(body: object): Promise<Json> {
  const path = `/api/models/${modelId}/export`;
  const { status, body: begun } = await service.call('POST', path, body);
  assert.is(status, 202, JSON.stringify(begun));
  let found: Json;
  await until(async () => {
    found = (await service.call('GET', path)).body;
    return found.underway === null;
  }, 'the export has ended');
  assert.equal([found.state, found.files[0].verified], ['done', true], JSON.stringify(found));
  return found;
}

const inFolder = (...parts: string[]) => join(service.dataDir, 'model_checkpoints', modelId, ...parts);
const card = async (): Promise<string> =>
  (await service.call('GET', `/api/models/${modelId}/card?repo_name=a/b`)).body;

test('at a strength, from a checkpoint, and as it was trained, a model answers as it did with that scale', async () => {
  const [whole, half, base, early] = [
    await likely({}),
    await likely({ scale: 0.5 }),
    await likely({ scale: 0 }),
    await likely({ checkpoint: 4 }),
  ];
  for (const [one, other] of [
    [whole, half],
    [half, base],
    [early, whole],
  ] as const)
    assert.ok(difference(one, other) > 0.1, 'they can be told apart');
  const adapter = readFileSync(inFolder('adapter', 'adapter_model.safetensors'));
  const file = readFileSync(inFolder('model-F16.gguf'));

  assert.equal((await choose({ strength: 0.5 })).chosen, { strength: 0.5, checkpoint: null });
  assert.ok(difference(await likely({}), half) < 0.05);
  assert.ok(difference(await likely({ scale: 0 }), base) < 0.05);
  assert.ok(difference(await likely({ scale: 2 }), whole) < 0.05);
  assert.ok(difference(await likely({ checkpoint: 4 }), early) < 0.05, 'checkpoints are what they were');
  assert.match(await card(), 'The files have 50% of the adapter’s strength');
  // Other types are of the same strength.
  const { chosen, files } = await choose({ quantizations: ['Q8_0'] });
  assert.equal([chosen, files.length], [{ strength: 0.5, checkpoint: null }, 2]);

  const found = await choose({ checkpoint: 4 });
  assert.equal([found.chosen, found.files.length], [{ strength: 1, checkpoint: 4 }, 2]);
  assert.ok(difference(await likely({}), early) < 0.05);
  assert.ok(
    found.files.every(({ mean_kl: kl }: Json) => kl < 0.05),
    'compared with its own answers',
  );
  assert.match(await card(), 'The files have the adapter of step 4;');

  assert.is((await choose({ strength: 1 })).chosen, null);
  assert.ok(difference(await likely({}), whole) < 0.05);
  assert.ok(readFileSync(inFolder('adapter', 'adapter_model.safetensors')).equals(adapter));
  assert.ok(readFileSync(inFolder('model-F16.gguf')).equals(file));
  assert.not(existsSync(inFolder('trained')));
  assert.not.match(await card(), 'The files have');
});

test.run();
