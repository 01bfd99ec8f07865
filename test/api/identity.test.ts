/** Names, notes and tags of runs and models, the lists that are searched by them, and the request of a run. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import WebSocket from 'ws';
import { frame as frameSchema } from '../../src/api/hone/frames/schemas.ts';
import { line, makeArtifacts, makeJobFolder } from '../jobs/made-folders.ts';
import {
  type Answer,
  endAll,
  type Json,
  startService,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

const dataDir = temporaryFolder();
let service: TestService;
let description: Description;

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, body);
  description.check(method, path.split('?')[0] as string, answer);
  return answer;
}
const good = async (method: string, path: string, body?: unknown): Promise<Json> => {
  const answer = await ask(method, path, body);
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
};
async function start(): Promise<void> {
  service = await startService({ dataDir });
  description = await readDescription(service);
  await until(
    async () => (await service.call('GET', '/api/jobs?state=completed,interrupted')).body.total === 2,
    'both jobs have ended',
  );
}

test.before(async () => {
  const run = [line('hello'), line('phase'), line('metric')];
  makeArtifacts(makeJobFolder(dataDir, 2, [...run, line('artifact'), line('done')]));
  makeJobFolder(dataDir, 3, run);
  await start();
});
test.after(endAll);

const modelOf = async (): Promise<Json> => (await good('GET', '/api/catalog')).models[0];

test('a run is called by its dataset, epochs and learning rate until it gets a name, and its model follows', async () => {
  const job = await good('GET', '/api/jobs/train_2');
  assert.equal([job.display_name, job.notes, job.tags], ['support · 3 epochs · 2e-4', '', []]);
  const model = await modelOf();
  assert.is(model.display_name, job.display_name);

  const change = { display_name: '  Replies of Ωctober ', notes: 'One\n\tTwo', tags: ['ready', ' to ship '] };
  const named = await good('PATCH', '/api/jobs/train_2', change);
  assert.equal(
    [named.display_name, named.notes, named.tags],
    ['Replies of Ωctober', change.notes, ['ready', 'to ship']],
  );
  assert.is((await modelOf()).display_name, 'Replies of Ωctober');
  assert.equal((await modelOf()).tags, [], 'tags are its own');

  const own = await good('PATCH', `/api/catalog/${model.model_id}`, {
    display_name: 'Shipped',
    tags: ['v1'],
  });
  assert.equal([own.display_name, own.name, own.tags], ['Shipped', model.name, ['v1']]);
  assert.is((await good('PATCH', '/api/jobs/train_2', { display_name: 'Another' })).notes, change.notes);
  assert.is((await modelOf()).display_name, 'Shipped');
  // By its number, too.
  await good('PATCH', `/api/catalog/${model.id}`, { notes: 'Since Monday' });
  const lineage = await good('GET', `/api/models/${model.id}/lineage`);
  assert.equal(
    [lineage.display_name, lineage.name, lineage.notes, lineage.tags],
    ['Shipped', model.name, 'Since Monday', ['v1']],
  );

  assert.is(
    (await good('PATCH', '/api/jobs/train_3', { display_name: null })).display_name,
    'support · 3 epochs · 2e-4',
  );
  assert.is((await good('PATCH', '/api/jobs/train_3', {})).display_name, 'support · 3 epochs · 2e-4');
});

test('whoever listens is told of a new name', async () => {
  const { model_id: modelId } = await modelOf();
  const socket = new WebSocket(`${service.url.replace('http', 'ws')}/ws/training`);
  const told: Json[] = [];
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    v.assert(frameSchema, frame);
    if (frame.type === 'identity') told.push(frame);
  });
  await new Promise((resolve) => socket.once('message', resolve));
  await good('PATCH', '/api/jobs/train_3', { tags: ['heard'] });
  await good('PATCH', `/api/catalog/${modelId}`, { notes: 'Since Monday' });
  await until(() => told.length === 2, 'both are told');
  socket.close();
  assert.equal(
    told.map(({ seq: _seq, time: _time, ...rest }) => rest),
    [
      {
        ...{ type: 'identity', job_id: 'train_3' },
        ...{ display_name: 'support · 3 epochs · 2e-4', notes: '', tags: ['heard'] },
      },
      {
        ...{ type: 'identity', model_id: modelId },
        ...{ display_name: 'Shipped', notes: 'Since Monday', tags: ['v1'] },
      },
    ],
  );
  await good('PATCH', '/api/jobs/train_3', { tags: [] });
});

test('the sets of the specification answer as ever', async () => {
  const { model_id: modelId, id, name } = await modelOf();
  for (const path of [
    '/api/models',
    '/api/models/',
    `/api/models/${id}`,
    `/api/models/${modelId}`,
    '/v1/models',
  ]) {
    const text = JSON.stringify((await service.call('GET', path)).body);
    assert.ok(text.includes(name), path);
    assert.not.ok(/Shipped|display_name|"tags"|"notes"/.test(text), path);
  }
});

test('what is no name, note or tag is refused, each by its field, and nothing is changed', async () => {
  const before = await good('GET', '/api/jobs/train_2');
  const { model_id: modelId } = await modelOf();
  const refused: [string, unknown, RegExp][] = [
    ['display_name', '', /must not be empty; null is the default name/],
    ['display_name', '   ', /must not be empty/],
    ['display_name', 'ends with a tab\t', /control characters/],
    ['display_name', 'x'.repeat(121), /at most 120 characters/],
    ['display_name', 'two\nlines', /one line/],
    ['display_name', 'nul\u0000', /control characters/],
    ['display_name', '\ud800', /control characters/],
    ['display_name', 7, /string/i],
    ['notes', 'x'.repeat(10_001), /at most 10000 characters/],
    ['notes', 'bell\u0007', /control characters/],
    ['notes', null, /string/i],
    ['tags', 'one', /array/i],
    ['tags', ['a', ''], /must not be empty/],
    ['tags', ['a,b'], /commas/],
    ['tags', ['x'.repeat(41)], /at most 40 characters/],
    ['tags', ['same', ' same '], /twice/],
    ['tags', Array.from({ length: 21 }, (_, index) => `t${index}`), /at most 20 tags/],
    ['tag', ['typo'], /tag/],
  ];
  for (const path of ['/api/jobs/train_2', `/api/catalog/${modelId}`]) {
    for (const [field, value, reason] of refused) {
      const { status, body } = await ask('PATCH', path, { [field]: value });
      assert.is(status, 400, `${field}: ${JSON.stringify(value)}`);
      assert.ok(body.detail.includes(field), body.detail);
      assert.match(body.detail, reason);
    }
  }
  const many = await ask('PATCH', '/api/jobs/train_2', { display_name: '', tags: [''], notes: 1 });
  for (const field of ['display_name', 'tags', 'notes']) assert.ok(many.body.detail.includes(field));
  assert.equal(await good('GET', '/api/jobs/train_2'), before);
  assert.is((await ask('PATCH', '/api/jobs/train_99', { notes: '' })).status, 404);
  assert.is((await ask('PATCH', '/api/jobs/facets', { notes: '' })).status, 404);
  assert.is((await ask('PATCH', '/api/catalog/99', { notes: '' })).status, 404);
});

test('lists are filtered by words, tags and values', async () => {
  const found = async (query: string): Promise<string[]> =>
    (await good('GET', `/api/jobs?${query}`)).jobs.map(({ job_id }: Json) => job_id);
  assert.equal(await found('search=ANOTHER%20ship'), ['train_2']);
  assert.equal(await found('search=2e-4'), ['train_3']);
  assert.equal(await found('tag=ready,to%20ship&state=completed'), ['train_2']);
  assert.equal(await found('tag=ready,other'), []);
  assert.equal(await found('search=support&limit=1&offset=1'), ['train_2']);
  assert.is((await good('GET', '/api/jobs?search=support&limit=1')).total, 2);
  const models = async (query: string): Promise<string[]> =>
    (await good('GET', `/api/catalog?${query}`)).models.map(({ display_name }: Json) => display_name);
  assert.equal(await models('search=shipped%20monday&tag=v1&base_model=owner%2Fname'), ['Shipped']);
  assert.equal(await models('dataset=other.jsonl'), []);
  assert.equal(await models('strategy=dpo'), []);
  for (const path of ['/api/jobs', '/api/catalog']) {
    for (const query of ['search=', 'tag=', `search=${'x'.repeat(201)}`]) {
      assert.is((await ask('GET', `${path}?${query}`)).status, 400, `${path}?${query}`);
    }
  }
  assert.equal((await good('GET', '/api/jobs/facets')).tags, [
    { value: 'ready', count: 1 },
    { value: 'to ship', count: 1 },
  ]);
  assert.equal(await good('GET', '/api/catalog/facets'), {
    tags: [{ value: 'v1', count: 1 }],
    models: [{ value: 'owner/name', count: 1 }],
    datasets: [{ value: 'support.jsonl', count: 1 }],
  });
});

test('a run has the request that repeats it', async () => {
  const { request, settings } = await good('GET', '/api/jobs/train_2');
  const { eval_split: _, ...repeated } = settings;
  assert.equal(request, {
    ...{ task: 'text-generation', model_name: 'owner/name', dataset: 'support.jsonl' },
    ...{ provider: 'standard', strategy: 'sft', ...repeated },
    validation_dataset: 'held-out.jsonl',
  });
  const known = new Set(
    Object.keys(
      description.find('POST', '/api/start_training')?.description.requestBody.content['application/json']
        .schema.properties,
    ),
  );
  assert.equal(
    Object.keys(request).filter((field) => !known.has(field)),
    [],
    'every field is one of a start',
  );
});

test('names, notes and tags outlive the database', async () => {
  const { model_id: modelId } = await modelOf();
  const read = async () => [
    ...(await good('GET', '/api/jobs')).jobs.map(({ job_id, display_name, notes, tags }: Json) => [
      ...[job_id, display_name, notes, tags],
    ]),
    ...(await good('GET', '/api/catalog')).models.map(({ display_name, name, notes, tags }: Json) => [
      ...[display_name, name, notes, tags],
    ]),
  ];
  const before = await read();
  assert.is(before.length, 3);
  await service.end();
  for (const name of readdirSync(join(dataDir, 'database'))) {
    if (name.startsWith('hone.sqlite')) rmSync(join(dataDir, 'database', name), { recursive: true });
  }
  await start();
  assert.equal(await read(), before);
  assert.is((await modelOf()).model_id, modelId);
});

test.run();
