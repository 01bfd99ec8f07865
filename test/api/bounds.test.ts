/** What a client may take of memory and disk: long rows, huge files of models, a long queue, many uploads. */
import { truncateSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { littleInstallation } from '../jobs/little-installation.ts';
import { resourcesOf } from '../load/resources.ts';
import {
  endAll,
  type Json,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { readDescription } from './description.ts';

const queued = 3;
const uploadsAtOnce = 2;
let service: TestService;

test.before(async () => {
  service = await startService({
    env: littleInstallation('deaf-to-stop'),
    limits: { queuedJobs: queued, uploadsAtOnce, stopAskMs: 100, stopTermMs: 100 },
  });
  await service.upload('support.jsonl', supportRows());
});
test.after(endAll);

test('200 rows of a megabyte are answered by page, in about a megabyte each', async () => {
  const row = `${JSON.stringify({ input: 'x'.repeat(2 ** 20), output: 'y' })}\n`;
  assert.is((await service.upload('long.jsonl', row.repeat(200))).body.validation.valid, true);
  const description = await readDescription(service);
  let from: number | null = 0;
  let rows = 0;
  while (from !== null) {
    const answer: Json = await service.call('GET', `/api/datasets/long.jsonl?rows=200&from=${from}`);
    description.check('GET', '/api/datasets/{name}', answer);
    assert.is(answer.status, 200);
    assert.ok(JSON.stringify(answer.body).length < 1.2 * 2 ** 20);
    assert.is(answer.body.cut_rows.length, answer.body.rows.length);
    rows += answer.body.rows.length;
    from = answer.body.next_from;
  }
  assert.is(rows, 200);
  assert.is((await service.call('DELETE', '/api/datasets/long.jsonl')).status, 200);
});

test('a configuration of 300 MB is refused without reading it', async () => {
  const model = temporaryFolder();
  writeFileSync(join(model, 'model.safetensors'), '');
  // Sparse: it takes no space.
  writeFileSync(join(model, 'config.json'), '');
  truncateSync(join(model, 'config.json'), 300 * 2 ** 20);
  const pid = service.process.pid as number;
  const before = process.platform === 'linux' ? resourcesOf(pid).residentBytes : 0;
  const answers = await Promise.all([
    service.call('POST', '/api/start_training', quickRequest({ model_name: model })),
    service.call('POST', '/api/finetune/start_training', quickRequest({ model_name: model })),
    service.call('POST', '/api/finetune/validate_model', { selected_model: model }),
  ]);
  for (const { status, body } of answers) {
    assert.is(status, 400, JSON.stringify(body));
    assert.match(JSON.stringify(body), 'has a config.json that has 300 MiB, more than the limit of 16 MiB');
  }
  const estimate = await service.call('POST', '/api/estimate', quickRequest({ model_name: model }));
  assert.ok(estimate.status < 500, JSON.stringify(estimate.body));
  if (process.platform === 'linux')
    assert.ok(resourcesOf(pid).residentBytes - before < 100e6, 'its content was not held in memory');
});

/** Starts an upload and leaves it unfinished. @returns what ends it. */
function hangingUpload(url: string): () => void {
  const call = request(`${url}/api/upload_dataset`, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': 10_000_000 },
  });
  call.on('error', () => undefined);
  call.write('--x\r\ncontent-disposition: form-data; name="file"; filename="slow.jsonl"\r\n\r\n');
  call.write(supportRows().repeat(30));
  return () => call.destroy();
}

test('more uploads than are taken at once are asked to come later, and then come in', async () => {
  const hanging = Array.from({ length: uploadsAtOnce }, () => hangingUpload(service.url));
  const description = await readDescription(service);
  const small = () => service.upload('small.jsonl', supportRows());
  const refused = await until(async () => {
    const answer = await small();
    return answer.status === 503 ? answer : null;
  }, 'both have arrived');
  description.check('POST', '/api/upload_dataset', refused as Json);
  assert.match(refused?.body.detail, `${uploadsAtOnce} uploads are in progress`);
  assert.is(refused?.headers.get('retry-after'), '10');
  for (const end of hanging) end();
  await until(async () => (await small()).status === 200, 'there is room again');
});

test('a queue that is full refuses one more with 409, and says so', async () => {
  const start = (changes: Record<string, unknown>) =>
    service.call('POST', '/api/start_training', quickRequest(changes));
  assert.is((await start({})).status, 200);
  for (let count = 0; count < queued; count += 1) assert.is((await start({ queue: true })).status, 200);
  const [flat, finetune] = [
    await start({ queue: true }),
    await service.call('POST', '/api/finetune/start_training', quickRequest({ queue: true })),
  ];
  assert.equal([flat.status, finetune.status], [409, 409]);
  for (const { body } of [flat, finetune])
    assert.match(body.detail, `The queue is full: ${queued} trainings`);
  assert.is((await service.call('POST', `/api/jobs/train_${queued + 1}/stop`)).status, 200);
  assert.is((await start({ queue: true })).status, 200, 'one was taken out');
  const { jobs } = (await service.call('GET', '/api/jobs')).body;
  for (const { job_id } of jobs) await service.call('POST', `/api/jobs/${job_id}/stop`);
});

test.run();
