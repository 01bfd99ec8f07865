/** An agent whose key has a budget, over the Model Context Protocol. */
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Budget } from '../../src/contract/access.ts';
import { fakeDriver } from '../native/fake/build.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  tinyModel,
  until,
} from '../service.ts';

let service: TestService;

test.before(async () => {
  // Clients of this machine need no key: the budget holds all the same.
  const args = ['--allow-path', dirname(tinyModel('llama'))];
  service = await startService({ args, limits: { budgetMs: 100 } });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

/** An agent with a key of its own; `use` calls a tool, and `refused` one that fails, with its words. */
async function agentWith(budget: Budget, of: TestService = service) {
  const made = await of.call('POST', '/api/keys', { name: 'agent', scope: 'train', budget });
  assert.is(made.status, 200, JSON.stringify(made.body));
  const { id, key } = made.body;
  const client = new Client({ name: 'test', version: '1.0.0' });
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${of.url}/mcp`), { requestInit: { headers } }),
  );
  const call = async (name: string, given: Json) =>
    (await client.callTool({ name, arguments: given }, { timeout: 300_000 })) as Json;
  return {
    id,
    headers,
    async use(name: string, given: Json = {}): Promise<Json> {
      const { content, isError } = await call(name, given);
      assert.not.ok(isError, content[0].text);
      return JSON.parse(content[0].text);
    },
    async refused(name: string, given: Json = {}): Promise<string> {
      const { content, isError } = await call(name, given);
      assert.ok(isError, content[0].text);
      return JSON.parse(content[0].text).detail;
    },
    used: async (): Promise<Json> =>
      (await of.call('GET', '/api/keys')).body.keys.find((one: Json) => one.id === id).used,
    close: () => client.close(),
  };
}

const endless = () => quickRequest({ max_steps: 100_000, export: 'none' });

test('a run is saved and stopped when the minutes are used up, and no other starts', async () => {
  const agent = await agentWith({ minutes: 0.1 });
  const { job_id: id } = await agent.use('start_training', endless());
  const run = await agent.use('wait_for_run', { job_id: id, seconds: 120 });
  assert.is(run.state, 'stopped', JSON.stringify(run));
  const { events } = (await service.call('GET', `/api/jobs/${id}/events`)).body;
  const told = events.find((frame: Json) => frame.code === 'budget').message;
  assert.match(
    told,
    /saved: the budget of the access key "agent" is used up\. Minutes of training: 0\.\d of 0\.1\.$/,
  );
  assert.ok((await agent.used()).minutes >= 0.1);
  assert.match(await agent.refused('start_training', endless()), 'Minutes of training');
  assert.match(await agent.refused('resume_run', { job_id: id }), 'used up');
  await agent.close();
});

if (process.platform === 'linux') {
  test('a run is saved and stopped when the energy is used up that its GPU takes', async () => {
    const driver = fakeDriver('modern');
    test.after(() => rmSync(driver, { recursive: true, force: true }));
    const measured = await startService({
      args: ['--allow-path', dirname(tinyModel('llama'))],
      env: { LD_LIBRARY_PATH: driver, FAKE_GPU_COUNT: '1' },
      limits: { budgetMs: 100 },
    });
    await measured.upload('support.jsonl', supportRows());
    const agent = await agentWith({ energy_wh: 0.1 }, measured);
    const { job_id: id } = await agent.use('start_training', { ...endless(), device: 'cpu' });
    const run = await agent.use('wait_for_run', { job_id: id, seconds: 120 });
    assert.is(run.state, 'stopped', JSON.stringify(run));
    const { events } = (await measured.call('GET', `/api/jobs/${id}/events`)).body;
    const told = events.find((frame: Json) => frame.code === 'budget').message;
    assert.match(told, /is used up\. Energy \(Wh\): 0\.\d of 0\.1\.$/);
    assert.ok((await agent.used()).energy_wh >= 0.1);
    assert.match(await agent.refused('start_training', endless()), 'Energy');
    await agent.close();
  });
}

test('no more runs start than a budget has, also when they are deleted', async () => {
  const agent = await agentWith({ runs: 1 });
  const { job_id: id } = await agent.use('start_training', quickRequest({ export: 'none' }));
  assert.is((await agent.use('wait_for_run', { job_id: id, seconds: 120 })).state, 'completed');
  assert.is((await service.call('DELETE', `/api/jobs/${id}`)).status, 200);
  assert.match(await agent.refused('start_training', quickRequest()), 'Runs: 1 of 1');
  assert.ok((await agent.used()).disk_mb > 0);
  await agent.close();
});

test('rows take of the disk space, and a run that needs more than is left does not start', async () => {
  const agent = await agentWith({ disk_mb: 0.01 });
  const rows = Array.from({ length: 12 }, (_, number) => ({ input: `question ${number}`, output: 'answer' }));
  await agent.use('add_rows', { name: 'own.jsonl', rows });
  assert.ok((await agent.used()).disk_mb > 0);
  await agent.use('add_rows', { name: 'own.jsonl', rows });
  const many = Array.from({ length: 400 }, () => rows[0]);
  assert.match(await agent.refused('add_rows', { name: 'own.jsonl', rows: many }), 'MB of disk space left');
  assert.is((await service.call('GET', '/api/datasets/own.jsonl')).body.num_examples, 24);
  assert.match(
    await agent.refused('start_training', quickRequest({ dataset: 'own.jsonl' })),
    /0 MB of disk space left, and this needs [\d.]+ MB/,
  );
  await agent.close();
});

test('an agent changes, stops and deletes nothing that it has not made, and names no paths', async () => {
  const agent = await agentWith({ runs: 3 });
  const started = await service.call('POST', '/api/start_training', endless());
  const { job_id: id } = started.body;
  assert.match(await agent.refused('stop_run', { job_id: id }), `has not started ${id}`);
  const rows = [{ input: 'a', output: 'b' }];
  assert.match(await agent.refused('add_rows', { name: 'support.jsonl', rows }), 'has not made the dataset');
  const forbidden = async (method: string, path: string, body?: Json) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { ...agent.headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.is(response.status, 403, `${method} ${path}`);
    return ((await response.json()) as Json).detail as string;
  };
  await forbidden('DELETE', `/api/jobs/${id}`);
  await forbidden('DELETE', '/api/datasets/support.jsonl');
  await forbidden('POST', '/api/finetune/start_training', quickRequest());
  await forbidden('POST', '/api/sweeps', {});
  await forbidden('GET', '/api/keys');
  await forbidden('POST', '/api/keys', { name: 'mine', scope: 'full' });
  assert.match(
    await forbidden('POST', '/api/start_training', quickRequest({ model_name: '/etc' })),
    'may name this path',
  );
  await service.call('POST', `/api/jobs/${id}/stop`, { discard: true });
  await agent.close();
});

test('a run is saved and stopped when its key is removed, and the key opens nothing any longer', async () => {
  const agent = await agentWith({ runs: 1 });
  const { job_id: id } = await agent.use('start_training', endless());
  const run = async (): Promise<Json> => (await service.call('GET', `/api/jobs/${id}`)).body;
  await until(async () => (await run()).last_metric !== null, 'it trains');
  await service.call('DELETE', `/api/keys/${agent.id}`);
  await until(async () => (await run()).state === 'stopped', 'the run of a removed key is stopped');
  assert.ok((await run()).checkpoints.length > 0, 'it was saved');
  const response = await fetch(`${service.url}/api/jobs`, { headers: agent.headers });
  assert.is(response.status, 401);
});

test('a budget is checked: only of the scope train, and not empty', async () => {
  const add = async (body: Json) =>
    (await service.call('POST', '/api/keys', { name: 'agent', ...body })).body;
  assert.match((await add({ scope: 'train' })).detail, 'needs a budget');
  assert.match((await add({ scope: 'train', budget: {} })).detail, 'needs a budget');
  assert.match((await add({ scope: 'full', budget: { runs: 1 } })).detail, 'Only a key of the scope "train"');
  assert.match((await add({ scope: 'train', budget: { runs: 0 } })).detail, 'greater than 0');
  assert.match((await add({ scope: 'train', budget: { hours: 1 } })).detail, 'hours');
});

test.run();
