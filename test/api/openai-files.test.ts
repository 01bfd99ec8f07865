/** `/v1/files`, with the official client: an uploaded file is a dataset, and is the same bytes afterwards. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../src/db/store.ts';
import { type Json, supportRows, until } from '../client.ts';
import { root } from '../folders.ts';
import { endAll, type InsideService, openInside } from '../inside-service.ts';
import { type Description, readDescription } from './description.ts';

let service: InsideService;
let client: OpenAI;
let description: Description;

test.before(async () => {
  service = await openInside({ limits: { uploadBytes: 100_000 } });
  client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: 'none', maxRetries: 0 });
  description = await readDescription(service);
});
test.after(endAll);

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `{"input":"in ${from + index}","output":"out"}\n`).join('');
const upload = (name: string, content: string, purpose = 'fine-tune' as const) =>
  toFile(Buffer.from(content), name).then((file) => client.files.create({ file, purpose }));
const stored = () => readdirSync(join(service.dataDir, 'datasets')).sort();

test('an upload is a dataset of the page, stored once, and is retrieved, read and deleted', async () => {
  const file = await upload('support.jsonl', supportRows());
  assert.match(file.id, /^file-[0-9a-f]{24}$/);
  assert.equal(
    [file.object, file.filename, file.purpose, file.status, file.bytes],
    ['file', 'support.jsonl', 'fine-tune', 'processed', Buffer.byteLength(supportRows())],
  );
  assert.ok(Math.abs(file.created_at - Date.now() / 1000) < 600);
  assert.equal(await client.files.retrieve(file.id), file);
  assert.is(await (await client.files.content(file.id)).text(), supportRows());
  assert.equal(stored(), ['support.jsonl']);
  const { datasets } = (await service.call('GET', '/api/datasets')).body;
  assert.equal(
    datasets.map(({ filename }: Json) => filename),
    ['support.jsonl'],
  );

  const same = await upload('support.jsonl', rows(10));
  assert.is.not(same.id, file.id);
  assert.is(same.filename, 'support.jsonl');
  assert.equal(stored(), ['support-2.jsonl', 'support.jsonl'], 'the first is not replaced');
  assert.is(await (await client.files.content(file.id)).text(), supportRows());

  assert.equal({ ...(await client.files.delete(same.id)) }, { id: same.id, object: 'file', deleted: true });
  assert.equal(stored(), ['support.jsonl']);
  const gone = await client.files.retrieve(same.id).catch((error) => error);
  assert.instance(gone, OpenAI.NotFoundError);
  assert.equal([gone.param, gone.code], ['id', null]);
  await client.files.delete(file.id);
});

test('a dataset of the page is a file, until another takes its name', async () => {
  await service.upload('page.jsonl', rows(10));
  const [file] = (await client.files.list()).data;
  assert.is(file?.filename, 'page.jsonl');
  await service.upload('page.jsonl', rows(11));
  const [later] = (await client.files.list()).data;
  assert.is.not(later?.id, file?.id);
  assert.is((await service.call('GET', `/v1/files/${file?.id}`)).status, 404);
  await service.call('DELETE', '/api/datasets/page.jsonl');
  assert.equal((await client.files.list()).data, []);
});

test('files are listed by page, in both orders and by purpose', async () => {
  const ids: string[] = [];
  for (const index of [1, 2, 3, 4, 5]) ids.push((await upload(`f${index}.jsonl`, rows(10, index))).id);
  const seen: string[] = [];
  for await (const file of client.files.list({ limit: 2 })) seen.push(file.id);
  assert.equal(seen, [...ids].reverse());
  const page = (await service.call('GET', `/v1/files?limit=2&order=asc&after=${ids[0]}`)).body;
  assert.equal([page.first_id, page.last_id, page.has_more], [ids[1], ids[2], true]);
  const rest = (await service.call('GET', `/v1/files?order=asc&after=${ids[3]}&purpose=fine-tune`)).body;
  assert.equal([rest.data.map(({ id }: Json) => id), rest.has_more], [[ids[4]], false]);
  assert.equal((await client.files.list({ purpose: 'fine-tune-results' })).data, []);
  for (const id of ids) await client.files.delete(id);
});

test('a form may have its fields before or after the file, and a name without an ending', async () => {
  for (const fieldsFirst of [true, false]) {
    const form = new FormData();
    if (fieldsFirst) form.append('purpose', 'fine-tune');
    form.append('file', new Blob([rows(10)]), 'upload');
    if (!fieldsFirst) form.append('purpose', 'fine-tune');
    const answer = await fetch(`${service.url}/v1/files`, { method: 'POST', body: form });
    const file = (await answer.json()) as Json;
    assert.equal([answer.status, file.filename], [200, 'upload.jsonl'], JSON.stringify(file));
    await client.files.delete(file.id);
  }
});

test('a file expires when its upload said so', async () => {
  const brief = await openInside();
  const other = new OpenAI({ baseURL: `${brief.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const file = await other.files.create({
    file: await toFile(Buffer.from(rows(10)), 'brief.jsonl'),
    purpose: 'fine-tune',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  });
  assert.is(file.expires_at, file.created_at + 3600);
  assert.is((await other.files.retrieve(file.id)).expires_at, file.created_at + 3600);
  await brief.end();

  // An hour later.
  const store = openStore(
    join(brief.dataDir, 'database', 'hone.sqlite'),
    join(root, 'src', 'db', 'migrations'),
  );
  const past = new Date(Date.now() - 1000).toISOString();
  for (const row of store.fineTuning.files()) store.fineTuning.putFile({ ...row, expiresAt: past });
  store.close();
  const later = await openInside({ dataDir: brief.dataDir });
  assert.is((await later.call('GET', `/v1/files/${file.id}`)).status, 404);
  await until(
    async () => (await later.call('GET', '/api/datasets')).body.datasets.length === 0,
    'the dataset is deleted',
  );
  // Its file goes after it.
  await until(() => readdirSync(join(brief.dataDir, 'datasets')).length === 0, 'its file is deleted');
});

const bad: Record<
  string,
  [form: Record<string, string>, file: [string, string] | null, param: string | null, message: RegExp]
> = {
  'no purpose': [{}, ['a.jsonl', rows(10)], 'purpose', /required/],
  'a purpose that is not stored': [{ purpose: 'assistants' }, ['a.jsonl', rows(10)], 'purpose', /fine-tune/],
  'an unknown purpose': [{ purpose: 'fun' }, ['a.jsonl', rows(10)], 'purpose', /fine-tune/],
  'no file': [{ purpose: 'fine-tune' }, null, null, /no file part/],
  'another ending': [{ purpose: 'fine-tune' }, ['a.csv', 'a,b\n'], 'file', /\.jsonl/],
  'a row that is no JSON': [
    { purpose: 'fine-tune' },
    ['a.jsonl', `${rows(10)}nonsense\n`],
    'file',
    /Line 11/,
  ],
  'rows without their fields': [
    { purpose: 'fine-tune' },
    ['a.jsonl', '{"what":"else"}\n'.repeat(10)],
    'file',
    /Line 1: found what/,
  ],
  'an anchor that there is not': [
    { purpose: 'fine-tune', 'expires_after[anchor]': 'last_used_at', 'expires_after[seconds]': '3600' },
    ['a.jsonl', rows(10)],
    'expires_after[anchor]',
    /created_at/,
  ],
  'too short a life': [
    { purpose: 'fine-tune', 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '60' },
    ['a.jsonl', rows(10)],
    'expires_after[seconds]',
    /3600/,
  ],
};

for (const [name, [fields, file, param, message]] of Object.entries(bad)) {
  test(`${name} is refused in OpenAI's format, and nothing is stored`, async () => {
    const form = new FormData();
    for (const [field, value] of Object.entries(fields)) form.append(field, value);
    if (file !== null) form.append('file', new Blob([file[1]]), file[0]);
    const response = await fetch(`${service.url}/v1/files`, { method: 'POST', body: form });
    const body = (await response.json()) as Json;
    description.check('POST', '/v1/files', { status: response.status, body, headers: response.headers });
    assert.is(response.status, 400, JSON.stringify(body));
    assert.equal([body.error.type, body.error.param], ['invalid_request_error', param]);
    assert.match(body.error.message, message);
    assert.equal(stored(), []);
    assert.equal((await client.files.list()).data, []);
  });
}

test('too large a file is 413, and unknown IDs are 404', async () => {
  const large = await upload('large.jsonl', rows(5000)).catch((error) => error);
  assert.is(large.status, 413);
  for (const id of ['file-none', 'file-results-1', 'file-results-999999999999999']) {
    for (const path of [
      `/v1/files/${encodeURIComponent(id)}`,
      `/v1/files/${encodeURIComponent(id)}/content`,
    ]) {
      const answer = await service.call('GET', path);
      assert.is(answer.status, 404);
      assert.ok(answer.body.error);
    }
  }
  for (const query of ['limit=0', 'limit=10001', 'limit=x', 'order=up', 'after=file-none']) {
    const answer = await service.call('GET', `/v1/files?${query}`);
    assert.is(answer.status, 400, query);
    assert.is(answer.body.error.param, query.split('=')[0]);
  }
  assert.equal(stored(), []);
});

test.run();
