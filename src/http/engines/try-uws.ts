/**
 * A program: `try-uws NATIVE_FILE VERSION` serves with a native file of uWebSockets.js and asks it for what Hone
 * needs: an answer to a request, an upload in pieces whose client is held back, a message over a WebSocket. Exits with 0 when all came right;
 * else, or when the native code crashes, `chooseEngine` takes another engine.
 */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { request } from 'node:http';
import { WebSocket } from 'ws';
import type { Call } from './engine.ts';
import { createUwsEngine } from './uws.ts';

// The last line is shown to the user.
process.on('uncaughtException', (error) => {
  console.error(error.message);
  process.exit(1);
});

const uploadBytes = 2 ** 24;
/** Bytes that may still arrive after pausing, because they were already received. */
const afterPauseBytes = 2 ** 21;
const pauseMs = 100;
const [path, version] = process.argv.slice(2) as [string, string];

/** Responds with the number of bytes received. */
function count(call: Call): void {
  let bytes = 0;
  call.onAborted(() => undefined);
  call.onData((piece, isLast) => {
    if (bytes === 0) {
      call.pause();
      setTimeout(() => {
        assert.ok(bytes < afterPauseBytes, 'it does not hold a client back');
        call.resume();
      }, pauseMs);
    }
    bytes += piece.length;
    if (isLast) call.send({ status: 200, headers: { 'x-engine': 'uws' } }, String(bytes));
  });
}

async function ask(port: number, method: string, body: Buffer | null): Promise<string> {
  const sent = request({ host: '127.0.0.1', port, method, path: '/?of=us', agent: false });
  sent.end(body);
  const [response] = await once(sent, 'response');
  assert.equal(response.statusCode, 200);
  assert.equal(response.headers['x-engine'], 'uws');
  let text = '';
  for await (const piece of response) text += piece;
  return text;
}

const app = createUwsEngine(path, version).createApp<true>({
  request: (call) => {
    if (call.method === 'POST') count(call);
    else call.send({ status: 200, headers: { 'x-engine': 'uws' } }, `${call.path} ${call.query}`);
  },
  socket: {
    path: '/socket',
    maxMessageBytes: 100,
    maxBacklogBytes: 2 ** 16,
    idleSeconds: 60,
    upgrade: () => true,
    open: (socket) => socket.subscribe('all'),
    drain: () => undefined,
    close: () => undefined,
  },
});
const port = await app.listen('127.0.0.1', 0);
assert.ok(port !== null, 'it cannot listen');
assert.equal(await ask(port, 'GET', null), '/ of=us');
assert.equal(await ask(port, 'POST', Buffer.alloc(uploadBytes)), String(uploadBytes));
const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
await once(socket, 'open');
setImmediate(() => app.publish([{ topic: 'all', text: 'a message' }]));
const [message] = await once(socket, 'message');
assert.equal(String(message), 'a message');
process.exit(0);
