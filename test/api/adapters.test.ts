/** Models of one base answer from one file, with adapters of any strength. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { childrenOf } from '../children.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';
import { type Answer, endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { type StoredModel, storeModel } from '../stored-model.ts';

let service: TestService;
let file: string;
const models = new Map<string, StoredModel>();
const note = { base: 'abc', file: 'abc-F32.gguf' };
const named = (name: string) => models.get(name) as StoredModel;

/** The log-probabilities of the first token's likeliest tokens, by their text. */
async function probabilities(model: string, more: object = {}): Promise<Map<string, number>> {
  const { status, body } = await complete(model, more);
  assert.is(status, 200, JSON.stringify(body));
  return new Map(
    body.choices[0].logprobs.content[0].top_logprobs.map(
      ({ bytes, logprob }: { bytes: number[]; logprob: number }) => [String(bytes), logprob],
    ),
  );
}
const complete = (model: string, more: object): Promise<Answer> =>
  service.call('POST', '/v1/chat/completions', {
    ...{ model, messages: [{ role: 'user', content: 'My parcel' }], max_tokens: 1, temperature: 0 },
    ...{ logprobs: true, top_logprobs: 20, ...more },
  });

/** The largest difference of the tokens that both have among their likeliest. */
function difference(one: Map<string, number>, other: Map<string, number>): number {
  const both = [...one.keys()].filter((key) => other.has(key));
  // The least likely of 20 may differ.
  if (both.length < 15) return Number.POSITIVE_INFINITY;
  return Math.max(...both.map((key) => Math.abs((one.get(key) ?? 0) - (other.get(key) ?? 0))));
}
/** llama.cpp keeps keys and values in 16 bits. */
const same = 0.02;
const children = () => childrenOf(service.process.pid, 'inference-worker.js');

test.before(async () => {
  const dataDir = temporaryFolder();
  models.set('a', storeModel(dataDir, 'a', { adapter: 1, note }));
  models.set('b', storeModel(dataDir, 'b', { adapter: 500, note }));
  const other = { base: 'other', file: 'other-F32.gguf' };
  models.set('other', storeModel(dataDir, 'other', { adapter: 7, note: other, baseModel: 'another' }));
  models.set('old', storeModel(dataDir, 'old', { adapter: 9 }));
  models.set('plain', storeModel(dataDir, 'plain'));
  mkdirSync(join(dataDir, 'bases'), { recursive: true });
  file = join(dataDir, 'bases', note.file);
  writeTinyGguf(file);
  service = await startService({ dataDir });
});
test.after(endAll);

test('models of one base answer from its file in one process as their merged files do', async () => {
  const shared = [await probabilities('a'), await probabilities('b')] as const;
  assert.is(children().length, 1);
  const base = await probabilities('a', { as_base: true });
  assert.is(children().length, 1);
  renameSync(file, `${file}.aside`);
  const merged = [await probabilities('a'), await probabilities('b')] as const;
  const unmerged = await probabilities('a', { as_base: true });
  renameSync(`${file}.aside`, file);
  for (const index of [0, 1] as const) assert.ok(difference(shared[index], merged[index]) < same);
  assert.ok(difference(base, unmerged) < same);
  assert.ok(difference(shared[0], shared[1]) > 0.1, 'the models differ');
  assert.ok(difference(shared[0], base) > 0.1, 'and from their base');
});

test('what models take in memory is told before they are loaded', async () => {
  await probabilities('a');
  const { status, body } = await service.call('GET', '/api/playground/memory');
  assert.is(status, 200);
  const of = (name: string) => body.models.find((model: { name: string }) => model.name === name);
  assert.is(of('a').base, note.base);
  assert.equal(
    [of('b').base, of('b').loaded, of('b').needs_bytes],
    [note.base, true, 0],
    'its weights are there',
  );
  assert.equal([of('old').base, of('plain').base], [null, null]);
  assert.is(of('other').loaded, false);
  // Two layers with keys and values of 256 numbers at 16 bits, and a context of 128 tokens.
  assert.is(of('other').needs_bytes, statSync(named('other').gguf).size + 2 * 2 * 256 * 2 * 128);
  assert.is(of('other').fits, true);
  assert.ok(body.total_bytes > 0);
});

test('the scale is the strength of the change', async () => {
  const base = await probabilities('a', { as_base: true });
  const tuned = await probabilities('a');
  assert.ok(difference(await probabilities('a', { scale: 0 }), base) === 0);
  assert.ok(difference(await probabilities('a', { scale: 1 }), tuned) === 0);
  for (const scale of [0.5, 2]) {
    const scaled = await probabilities('a', { scale });
    assert.ok(difference(scaled, tuned) > same && difference(scaled, base) > same, String(scale));
  }
});

test('two adapters are added with their scales, from the base and from a merged file', async () => {
  const b = await probabilities('b');
  const fromBase = await probabilities('a', { scale: 0.5, blend: { model: 'b', scale: 0.5 } });
  assert.ok(difference(await probabilities('a', { scale: 0, blend: { model: 'b' } }), b) < same);
  assert.ok(
    difference(await probabilities('a', { blend: { model: 'b', scale: 0 } }), await probabilities('a')) <
      same,
  );
  assert.ok(difference(fromBase, b) > same);
  renameSync(file, `${file}.aside`);
  const fromMerged = await probabilities('a', { scale: 0.5, blend: { model: 'b', scale: 0.5 } });
  renameSync(`${file}.aside`, file);
  assert.ok(difference(fromBase, fromMerged) < same);
});

test('every set has the fields', async () => {
  const text = async (path: string, body: object, key: string): Promise<string> => {
    const answer = await service.call('POST', path, { prompt: 'My parcel', temperature: 0, ...body });
    assert.is(answer.status, 200, JSON.stringify(answer.body));
    return answer.body[key];
  };
  const blend = { model: named('b').modelId, scale: 1 };
  for (const weights of [{ scale: 2 }, { scale: 0, blend }]) {
    const { id, modelId } = named('a');
    const flat = await text(
      '/api/playground/generate',
      { model_id: id, max_new_tokens: 8, ...weights },
      'generated_text',
    );
    const other = await text(
      '/api/playground/new',
      { model_id: modelId, max_length: 8, ...weights },
      'generated_text',
    );
    assert.is(flat, other);
    assert.ok(flat.length > 0);
  }
  const completion = await service.call('POST', '/v1/completions', {
    ...{ model: 'a', prompt: 'ab', max_tokens: 2, scale: 0, blend: { model: 'b' } },
  });
  assert.is(completion.status, 200);
});

test('a bad strength or a base that does not fit is refused', async () => {
  for (const [more, param] of [
    [{ scale: 2.1 }, 'scale'],
    [{ scale: -0.1 }, 'scale'],
    [{ scale: '1' }, 'scale'],
    [{ blend: { model: 'b', scale: 3 } }, 'blend.scale'],
    [{ blend: { scale: 1 } }, 'blend.model'],
    [{ blend: { model: 'b', strength: 1 } }, 'blend.strength'],
  ] as const) {
    const { status, body } = await complete('a', more);
    assert.is(status, 400, JSON.stringify(more));
    assert.is(body.error.param, param);
  }
  const refused = async (model: string, more: object, words: RegExp, status = 400) => {
    const answer = await complete(model, more);
    assert.is(answer.status, status, JSON.stringify(answer.body));
    assert.match(answer.body.error.message, words);
  };
  await refused(
    'a',
    { blend: { model: 'other' } },
    /other cannot be blended with a: it was trained on another, the other on tiny/,
  );
  await refused(
    'a',
    { blend: { model: 'old' } },
    /did not record its base, which cannot be found out now: Its training was deleted. Train it again/,
  );
  await refused('a', { blend: { model: 'plain' } }, /plain cannot be blended: it has no adapter/);
  await refused('plain', { scale: 0.5 }, /The scale of plain must be 1/);
  await refused('a', { blend: { model: 'nobody' } }, /nobody/, 404);
  for (const more of [{ scale: 1 }, { blend: { model: 'b' } }])
    await refused('a', { as_base: true, ...more }, /as_base exclude each other/);
  // Of itself, the strength of a model without a recorded base can be changed.
  assert.is((await complete('old', { scale: 0.5 })).status, 200);
});

test("a model's own file answers as the model does, and not beside other weights", async () => {
  const [tuned, own] = [await probabilities('a'), await probabilities('a', { file: 'f16' })];
  assert.ok(difference(tuned, own) < same);
  const refused = async (model: string, more: object, words: string) => {
    const { status, body } = await complete(model, more);
    assert.is(status, 400, JSON.stringify(body));
    assert.match(body.error.message, words);
  };
  const { gguf } = named('a');
  renameSync(gguf, `${gguf}.aside`);
  await refused('a', { file: 'F16' }, `A file of the model a is missing: ${gguf}`);
  assert.is((await complete('a', {})).status, 200, 'it is the file of the base that answers otherwise');
  renameSync(`${gguf}.aside`, gguf);
  await refused('a', { file: 'Q2_K' }, 'The model a has no Q2_K file. It has F16.');
  await refused('a', { file: '' }, 'must be the name of a quantization');
  const others = { as_base: true, checkpoint: 1, scale: 1, blend: { model: 'b' } };
  for (const [name, value] of Object.entries(others))
    await refused('a', { file: 'F16', [name]: value }, `${name} and file exclude each other`);
});

test('what another model says of its base takes no time of any request', async () => {
  const said = join(named('other').path, 'base.json');
  rmSync(said);
  // Whoever reads it waits until somebody writes it.
  execFileSync('mkfifo', [said]);
  renameSync(file, `${file}.aside`);
  assert.is((await complete('a', {})).status, 200, 'models of other bases cannot share its file');
  renameSync(`${file}.aside`, file);
  const memory = service.call('GET', '/api/playground/memory');
  assert.is((await complete('b', {})).status, 200, 'others are served while it is read');
  await writeFile(said, JSON.stringify({ base: 'late', file: 'late-F32.gguf' }));
  const { body } = await memory;
  assert.is(body.models.find((model: { name: string }) => model.name === 'other').base, 'late');
  rmSync(said);
});

test('a base is deleted with its last model', async () => {
  const remove = async (name: string) =>
    assert.is((await service.call('DELETE', `/api/models/${named(name).id}`)).status, 200);
  await remove('b');
  assert.ok(existsSync(file));
  assert.is((await complete('a', {})).status, 200);
  await remove('a');
  assert.ok(existsSync(file), 'models in the bin need it');
  assert.is((await service.call('DELETE', '/api/bin')).status, 200);
  assert.not(existsSync(file));
});

test.run();
