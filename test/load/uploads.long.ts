/** Ten uploads of 500 MB at once: all are stored whole, and the memory of the service grows by less than 200 MB. */
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, type Json, startService, type TestService } from '../service.ts';
import { inMegabytes, resourcesOf } from './resources.ts';

const uploads = 10;
/** Below the limit of 500 MiB with the envelope. */
const bytesEach = 500_000_000;
const growthBytes = 200e6;

test.after(endAll);

const row = `${JSON.stringify({ input: 'question '.repeat(60), output: 'answer '.repeat(60) })}\n`;
const block = Buffer.from(row.repeat(1_000));

/** Streams an upload. @returns its status and body. */
function upload(service: TestService, name: string): Promise<{ status: number; body: Json }> {
  const start = Buffer.from(
    `--x\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/jsonl\r\n\r\n`,
  );
  const end = Buffer.from('\r\n--x--\r\n');
  const blocks = Math.floor(bytesEach / block.length);
  return new Promise((resolve, reject) => {
    const call = request(
      `${service.url}/api/upload_dataset`,
      {
        method: 'POST',
        headers: {
          'content-type': 'multipart/form-data; boundary=x',
          'content-length': start.length + blocks * block.length + end.length,
        },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.once('end', () =>
          resolve({ status: response.statusCode as number, body: JSON.parse(text) }),
        );
      },
    );
    call.once('error', reject);
    call.write(start);
    let sent = 0;
    const send = () => {
      while (sent < blocks) {
        sent += 1;
        if (!call.write(block)) {
          call.once('drain', send);
          return;
        }
      }
      call.end(end);
    };
    send();
  });
}

for (const engine of ['uws', 'node']) {
  test(`${uploads} uploads of 500 MB at once with the ${engine} engine`, async () => {
    const service = await startService({ env: { HONE_HTTP: engine } });
    const pid = service.process.pid as number;
    const before = resourcesOf(pid);
    let most = 0;
    let done = false;
    const all = Promise.all(
      Array.from({ length: uploads }, (_, number) => upload(service, `large-${number}.jsonl`)),
    ).finally(() => {
      done = true;
    });
    while (!done) {
      most = Math.max(most, resourcesOf(pid).residentBytes);
      await sleep(100);
    }
    const answers = await all;
    const growth = most - before.residentBytes;
    console.log(
      `figure: ${engine}: memory ${inMegabytes(before.residentBytes)}, at most ${inMegabytes(growth)} more`,
    );
    assert.equal(
      answers.map(({ status, body }) => [status, body.num_examples]),
      answers.map(() => [200, Math.floor(bytesEach / block.length) * 1_000]),
    );
    assert.ok(growth < growthBytes);
    await service.end();
  });
}

test.run();
