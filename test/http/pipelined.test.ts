/** Requests that a client sends on one connection without waiting for the response to the first. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../service.ts';
import { converse, engines, get, head, type LittleServer, startLittleServer } from './engines.ts';

let servers: LittleServer[] = [];

test.before(async () => {
  servers = await Promise.all(engines.map((name) => startLittleServer(name, temporaryFolder())));
});
test.after(async () => {
  await Promise.all(servers.map((server) => server.end()));
});

const unanswered = get('/api/wait');
const handshake = get(
  '/ws/training',
  ...['upgrade: websocket', 'connection: upgrade', 'sec-websocket-version: 13'],
  'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
);
const second: Record<string, string> = {
  'a WebSocket handshake': handshake,
  'another upgrade': get('/api/small', 'upgrade: h2c', 'connection: upgrade'),
  'an unknown method': head('NOTHING /api/small'),
  'no HTTP': '\0\0\0\0\r\n\r\n',
};

for (const [name, bytes] of Object.entries(second)) {
  test(`${name} behind an unanswered request leaves the server running`, async () => {
    for (const server of servers) {
      await converse(server.port, [unanswered + bytes]);
      await converse(server.port, [unanswered, 50, bytes]);
      const { text } = await converse(server.port, [get('/api/small')]);
      assert.match(text, 'HTTP/1.1 200 OK', server.name);
      assert.equal(
        server.told().filter((line) => line.startsWith('stderr')),
        [],
      );
    }
  });
}

test.run();
