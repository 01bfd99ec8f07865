/** A file that shrinks while it is downloaded: the client sees that its download is incomplete. */
import { once } from 'node:events';
import { truncateSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../service.ts';
import { engines, startLittleServer } from './engines.ts';

/** More than the system holds for a reader. */
const fileBytes = 2 ** 26;

for (const name of engines) {
  test(`${name}: the connection ends before the announced length, and the next download is right`, async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'file.bin');
    const server = await startLittleServer(name, folder);
    writeFileSync(path, '');
    truncateSync(path, fileBytes);
    const url = `http://127.0.0.1:${server.port}/api/files/file.bin`;
    const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
    assert.is(response.headers['content-length'], String(fileBytes));
    let bytes = 0;
    response.on('data', (piece: Buffer) => {
      if (bytes === 0) truncateSync(path, 1000);
      bytes += piece.length;
    });
    const failed = once(response, 'error');
    const [error] = await Promise.race([failed, once(response, 'end').then(() => [null])]);
    assert.ok(error instanceof Error, 'the download fails');
    assert.not(response.complete);
    assert.ok(bytes < fileBytes, `${bytes} bytes came`);
    const whole = await fetch(url);
    assert.is((await whole.arrayBuffer()).byteLength, 1000);
    await server.end();
  });
}

test.run();
