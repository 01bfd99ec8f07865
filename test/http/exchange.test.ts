import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, until } from '../service.ts';

let service: TestService;
const uploadBytes = 2 ** 20;

test.before(async () => {
  service = await startService({ limits: { uploadBytes } });
});
test.after(endAll);

/** Sends raw bytes and gives what comes back until the server closes or nothing more comes. */
function raw(text: string, options: { hangUp?: boolean } = {}): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => {
      socket.write(text);
      if (options.hangUp) setTimeout(() => socket.destroy(), 20);
    });
    socket.on('data', (chunk) => {
      received += chunk;
      socket.end();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', () => resolve(received));
  });
}

const datasets = () => readdirSync(join(service.dataDir, 'datasets'));
const row = `${JSON.stringify({ input: 'i'.repeat(1000), output: 'o' })}\n`;

test('an upload at the limit is refused by its announced length, before it is read', async () => {
  const head = `POST /api/upload_dataset HTTP/1.1\r\nhost: localhost\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: ${10 * uploadBytes}\r\n\r\n`;
  assert.match(await raw(head), 'HTTP/1.1 413');
});

test('an upload that is larger than it says is refused by counting', async () => {
  const answer = await service.upload('big.jsonl', row.repeat(Math.ceil((1.03 * uploadBytes) / row.length)));
  assert.is(answer.status, 413);
  assert.match(answer.body.detail, '1 MiB');
  assert.equal(datasets(), []);
});

test('an upload below the limit is stored whole', async () => {
  const content = row.repeat(Math.floor((0.98 * uploadBytes) / row.length));
  const answer = await service.upload('fits.jsonl', content);
  assert.is(answer.status, 200);
  assert.is(answer.body.num_examples, Math.floor((0.98 * uploadBytes) / row.length));
});

test('clients that go away in the middle of an upload leave nothing open and nothing behind', async () => {
  const before = datasets();
  const openFiles = () => readdirSync(`/proc/${service.process.pid}/fd`).length;
  const filesBefore = openFiles();
  const head =
    'POST /api/upload_dataset HTTP/1.1\r\nhost: localhost\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 500000\r\n\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n';
  for (let round = 0; round < 40; round += 1) {
    await Promise.all(Array.from({ length: 25 }, () => raw(head + row.repeat(10), { hangUp: true })));
  }
  await until(() => openFiles() <= filesBefore + 2, 'every file was closed');
  await until(() => datasets().length === before.length, 'what had come was removed');
  assert.is((await service.call('GET', '/api/health')).status, 200);
});

test('a HEAD has the headers of its GET and no body', async () => {
  const get = await service.call('GET', '/api/info');
  const head = await raw('HEAD /api/info HTTP/1.1\r\nhost: localhost\r\n\r\n');
  assert.match(head, 'HTTP/1.1 200');
  assert.match(head.toLowerCase(), `content-length: ${JSON.stringify(get.body).length}`);
  assert.ok(head.endsWith('\r\n\r\n'));
});

test('garbage instead of HTTP closes only its own connection', async () => {
  for (const garbage of [
    '\0\0\0\0\r\n\r\n',
    'GET\r\n\r\n',
    'POST /api/start_training HTTP/1.1\r\nhost: localhost\r\ncontent-length: -5\r\n\r\n',
    'A'.repeat(100_000),
  ]) {
    await raw(garbage, { hangUp: true });
  }
  await sleep(50);
  assert.is((await service.call('GET', '/api/health')).status, 200);
});

test('a thousand requests at once are all answered', async () => {
  const answers = await Promise.all(
    Array.from({ length: 1000 }, () => service.call('GET', '/api/finetune/session')),
  );
  assert.ok(answers.every(({ status, body }) => status === 200 && body.success));
});

test.run();
