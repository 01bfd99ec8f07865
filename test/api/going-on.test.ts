/** A training goes on from a model of Hone or its checkpoint: by name, ID and step, with the same adapter or another. */
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { cp } from 'node:fs/promises';
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
  temporaryFolder,
  tinyModel,
  untilEnded,
} from '../service.ts';

let service: TestService;
let base: string;
let first: Json;

const request = (changes: Record<string, unknown> = {}) =>
  quickRequest({ model_name: base, eval_split: 0.2, learning_rate: 5e-3, ...changes });

async function refusal(body: object): Promise<string> {
  const { status, body: answer } = await service.call('POST', '/api/start_training', body);
  assert.is(status, 400, JSON.stringify(answer));
  return JSON.stringify(answer);
}

/** Trains, and returns the job with its model in the catalog. */
async function train(changes: Record<string, unknown>): Promise<{ job: Json; model: Json; started: Json }> {
  const started = await service.call('POST', '/api/start_training', request(changes));
  assert.is(started.status, 200, JSON.stringify(started.body));
  const ended = await untilEnded(service);
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  const { body } = await service.call('GET', '/api/jobs?limit=1');
  const { body: job } = await service.call('GET', `/api/jobs/${body.jobs[0].job_id}`);
  const { body: catalog } = await service.call('GET', '/api/catalog');
  const model = catalog.models.find(({ model_id: id }: Json) => id === job.model_id);
  return { job, model, started: started.body };
}

/** The loss on the held-out rows before the first step, and that of the model that it goes on from. */
async function before(job: Json): Promise<Json> {
  const { body } = await service.call('GET', `/api/jobs/${job.job_id}/metrics`);
  return body.eval.find(({ step }: Json) => step === 0).metrics;
}

const near = (one: number, other: number) => Math.abs(one - other) < 2e-3 * Math.max(1, Math.abs(other));

test.before(async () => {
  base = join(temporaryFolder(), 'base');
  await cp(tinyModel('llama'), base, { recursive: true });
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
  first = await train({ lora_r: 4, lora_alpha: 8, save_steps: 2, save_total_limit: 5 });
});
test.after(endAll);

test('its adapter is trained on by its name, its ID and the name of its run', async () => {
  const { name, model_id: id } = first.model;
  const { body: estimated } = await service.call('POST', '/api/estimate', request({ model_name: name }));
  assert.is(estimated.request.model_name, name);
  assert.equal([estimated.request.lora_r, estimated.request.lora_alpha], [4, 8], 'those of its adapter');
  assert.ok(estimated.advice.includes(`The adapter of ${name} is trained on.`), JSON.stringify(estimated));
  const { body: checked } = await service.call('POST', '/api/base_models/check', { model: name });
  assert.equal([checked.usable, checked.problem], [true, null]);
  for (const reference of [name, id, first.job.job_id]) {
    const { job, model, started } = await train({ model_name: reference });
    assert.match(JSON.stringify(started), `The adapter of ${name} is trained on.`);
    const parent = { model_id: id, name, step: null, how: 'adapter', why: null };
    assert.equal([job.parent, model.parent], [parent, parent]);
    assert.equal([job.model_name, model.base_model], [base, base], 'its base is that of its parent');
    assert.equal([job.settings.lora_r, job.settings.lora_alpha], [4, 8]);
    assert.is(job.request.model_name, name, 'what starts it again');
    assert.is(job.verification?.passed, true);
    // It begins with what its parent has learned, and is compared with both.
    const { eval_loss: ofBase, 'parent/eval_loss': ofParent } = await before(job);
    assert.ok(near(ofBase, first.job.verdict.loss.base), `${ofBase}`);
    assert.ok(near(ofParent, first.job.verdict.loss.tuned), `${ofParent}`);
    assert.equal(job.verdict.loss, { base: ofBase, tuned: job.metrics.eval_loss, parent: ofParent });
    assert.ok(job.metrics.eval_loss < ofBase);
    const { body: lineage } = await service.call('GET', `/api/models/${model.model_id}/lineage`);
    assert.equal(lineage.parent, parent);
    assert.is('parent' in lineage.settings, false);
    const card = await service.call('GET', `/api/models/${model.model_id}/card?repo_name=ada/more`);
    assert.match(JSON.stringify(card.body), `It goes on from \`${name}\`, whose adapter was trained on.`);
    const asked = { model: model.name, messages: [{ role: 'user', content: 'My parcel' }], max_tokens: 4 };
    assert.is((await service.call('POST', '/v1/chat/completions', asked)).status, 200);
  }
});

test('a checkpoint is trained on, or merged for another rank', async () => {
  const step = 4;
  const reference = `${first.job.job_id}@${step}`;
  const { job } = await train({ model_name: reference });
  const { name, model_id: id } = first.model;
  assert.equal(job.parent, { model_id: id, name, step, how: 'adapter', why: null });
  assert.is(job.request.model_name, `${id}@${step}`);
  const kept = first.job.checkpoints.find((one: Json) => one.step === step);
  assert.ok(kept !== undefined);
  const { 'parent/eval_loss': ofCheckpoint } = await before(job);
  assert.ok(ofCheckpoint > first.job.verdict.loss.tuned, 'it had learned less');
  const other = { model_name: `${name}@${step}`, lora_r: 2 };
  const { path: folder } = first.model;
  const copies = () => readdirSync(folder).filter((entry) => entry.startsWith('adapter-'));
  assert.is((await service.call('POST', '/api/estimate', request(other))).status, 200);
  assert.equal(copies(), [], 'an estimate makes nothing');
  const merged = await train(other);
  assert.equal(copies(), [`adapter-${step}`]);
  assert.equal(
    [merged.job.parent.how, merged.job.parent.step, merged.job.settings.lora_r],
    ['merged', step, 2],
  );
  assert.ok(near((await before(merged.job)).eval_loss, ofCheckpoint), 'and begins with the same loss');
  assert.is(merged.job.verification?.passed, true);
  assert.match(await refusal(request({ model_name: `${name}@5` })), 'keeps no checkpoint of step 5');
});

test('with another rank or strategy it is merged into a new base first', async () => {
  const { name, model_id: id } = first.model;
  const { job, model, started } = await train({ model_name: name, lora_r: 8 });
  const why = 'lora_r is 8, and that of its adapter 4';
  assert.match(JSON.stringify(started), `The adapter of ${name} is merged into a new base first: ${why}.`);
  const parent = { model_id: id, name, step: null, how: 'merged', why };
  assert.equal([job.parent, model.parent], [parent, parent]);
  assert.ok(near((await before(job)).eval_loss, first.job.verdict.loss.tuned));
  assert.is(job.verification?.passed, true);
  assert.match(model.name, new RegExp(`^${name}-support`), 'it is called like its parent');
  assert.equal([job.request.model_name, job.request.merge_adapter], [name, true]);
  const whole = await train({ model_name: name, adapter: 'full', learning_rate: 1e-3 });
  assert.equal([whole.job.parent.how, whole.job.verification?.passed], ['merged', true]);
  const more = await train({ model_name: whole.model.name });
  assert.is(more.job.parent.how, 'whole');
  assert.ok(near((await before(more.job)).eval_loss, whole.job.verdict.loss.tuned));
});

test('a parent that is used is not deleted, and one that is gone is refused', async () => {
  const { job, model } = await train({ model_name: first.model.name });
  const going = request({ model_name: model.name, max_steps: 5000 });
  const { status, body } = await service.call('POST', '/api/start_training', going);
  assert.is(status, 200, JSON.stringify(body));
  const removed = await service.call('DELETE', `/api/models/${model.model_id}`);
  assert.is(removed.status, 409, JSON.stringify(removed.body));
  assert.match(JSON.stringify(removed.body), 'is used by the running job');
  const { body: list } = await service.call('GET', '/api/jobs?limit=1');
  const { job_id: running } = list.jobs[0];
  await service.call('POST', '/api/stop_training', {});
  await untilEnded(service);
  const weights = join(model.path, 'adapter', 'adapter_model.safetensors');
  renameSync(weights, `${weights}.aside`);
  const gone = await refusal(request({ model_name: model.name }));
  assert.match(gone, `The adapter of ${model.name} is gone`);
  const { body: after } = await service.call('GET', '/api/jobs?limit=1');
  assert.is(after.jobs[0].job_id, running, 'and leaves no job');
  renameSync(`${weights}.aside`, weights);
  assert.is((await service.call('DELETE', `/api/models/${model.model_id}`)).status, 200);
  // The run has its own copy of the adapter.
  assert.ok(existsSync(join(service.dataDir, 'jobs', running, 'parent', 'adapter_model.safetensors')));
  assert.match(
    await refusal(request({ model_name: model.name })),
    'no model that was trained here has this name',
  );
  assert.match(await refusal(request({ model_name: model.model_id })), 'There is no model');
  assert.match(await refusal(request({ model_name: job.job_id })), 'has no model');
  assert.match(await refusal(request({ model_name: 'train_999' })), 'train_999');
});

test('a parent whose base is gone is refused with what to do', async () => {
  renameSync(base, `${base}.aside`);
  const said = await refusal(request({ model_name: first.model.name }));
  assert.match(said, `The base of ${first.model.name} is gone: there is no ${base}. Put it back there`);
  const { status } = await service.call('POST', '/api/estimate', request({ model_name: first.model.name }));
  assert.is(status, 400);
  // Its merged file can be a base by itself.
  const gguf = /\((\/[^)]*\.gguf)\)/.exec(said)?.[1] ?? '';
  assert.is(readFileSync(gguf).subarray(0, 4).toString(), 'GGUF', said);
  renameSync(`${base}.aside`, base);
});

test.run();
