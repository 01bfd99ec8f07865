/** How long either engine waits for a client: not for ever, and as long as there is something to wait for. */
import { connect } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, temporaryFolder } from '../service.ts';
import {
  converse,
  engines,
  get,
  head,
  isRegistrys,
  type LittleServer,
  startLittleServer,
} from './engines.ts';

let servers: LittleServer[] = [];

test.before(async () => {
  servers = await Promise.all(engines.map((name) => startLittleServer(name, temporaryFolder())));
});
test.after(async () => {
  await Promise.all(servers.map((server) => server.end()));
  await endAll();
});

/** Asks for a file, reads nothing for a while, and then all of it. */
function readAfterRest(port: number, path: string, restMs: number): Promise<{ bytes: number; end: string }> {
  return new Promise((resolve) => {
    let bytes = 0;
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(get(path, 'connection: close'));
      socket.pause();
      setTimeout(() => socket.resume(), restMs);
    });
    socket.on('data', (piece) => {
      bytes += piece.length;
    });
    socket.on('end', () => resolve({ bytes, end: 'whole' }));
    socket.on('error', (error) => resolve({ bytes, end: error.message }));
  });
}

test('a connection that brings nothing, or too little, is closed', async () => {
  const slow = Array.from({ length: 15 }, () => ['x'.repeat(1_000), 1_000]).flat();
  const silent: Record<string, (string | number)[]> = {
    nothing: [],
    'half a head': ['GET / HTTP/1.1\r\nho'],
    'nothing after an answer': [get('/api/small')],
    'a body that stops': [head('POST /api/count', 'content-length: 1000000'), 'abc'],
    'a body of 1 KB a second': [head('POST /api/count', 'content-length: 1000000'), ...slow],
  };
  const all = servers.flatMap(({ name, port }) =>
    Object.entries(silent).map(async ([what, parts]) => {
      // Later releases wait for a first byte.
      if (name === 'uws' && !isRegistrys && what === 'nothing') return;
      const { end } = await converse(port, parts, 20_000);
      assert.is(end, 'closed', `${name}: ${what}`);
    }),
  );
  const patient = servers.map(async ({ name, port }) => {
    const enough = Array.from({ length: 14 }, () => ['x'.repeat(40_000), 1_000]).flat();
    const { text, end } = await converse(port, [
      head('POST /api/count', `content-length: ${14 * 40_000}`),
      ...enough,
    ]);
    assert.match(text, `{"bytes":${14 * 40_000}}`, name);
    assert.is(end, 'open');
  });
  const pausing = servers.map(async ({ name, port }) => {
    const { text } = await converse(port, [get('/api/long-pause')], 20_000);
    assert.match(text, /before [\s\S]*after/, `${name}: we may take our time`);
  });
  const resting = servers.map(async ({ name, port }) => {
    const { bytes, end } = await readAfterRest(port, '/api/files/zeros.bin', 14_000);
    assert.equal([end, bytes > 2 ** 25], ['whole', true], `${name}: the reader may take its time, too`);
  });
  await Promise.all([...all, ...patient, ...pausing, ...resting]);
});

test.run();
