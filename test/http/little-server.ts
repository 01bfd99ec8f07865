/**
 * A program: `little-server ENGINE FOLDER` serves with an engine what tests of it ask for, through everything else
 * of `src/http`. Prints `listening PORT`, and a line for each request that its client has left.
 */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import * as v from 'valibot';
import { createAssets } from '../../src/http/assets.ts';
import type { NativeFile } from '../../src/http/engines/choose.ts';
import { nodeEngine } from '../../src/http/engines/node.ts';
import { createUwsEngine } from '../../src/http/engines/uws.ts';
import { errorReply } from '../../src/http/error-reply.ts';
import { sendFile } from '../../src/http/file-reply.ts';
import { Reply } from '../../src/http/reply.ts';
import { route } from '../../src/http/route.ts';
import { createServer, type ServerOptions } from '../../src/http/server.ts';
import { native } from './engines.ts';
import { openGate } from './open-gate.ts';

const [name, folder] = process.argv.slice(2) as [string, string];
const { path, version } = (native ?? {}) as NativeFile;
const engine = name === 'uws' ? createUwsEngine(path, version) : nodeEngine;
const base = { tag: 'test', summary: '', responses: {} } as const;
const file = (name: string) => ({ name, path: join(folder, name), bytes: statSync(join(folder, name)).size });
writeFileSync(join(folder, 'letters.txt'), 'abcdefghijklmnopqrstuvwxyz');
writeFileSync(join(folder, 'empty.txt'), '');
// More than the system holds for a reader.
writeFileSync(join(folder, 'zeros.bin'), Buffer.alloc(2 ** 25));
const pageDir = join(folder, 'page');
mkdirSync(pageDir);
writeFileSync(join(pageDir, 'index.html'), '<p>a page</p>');
writeFileSync(join(pageDir, 'main.css'), 'p { color: red }');
writeFileSync(join(pageDir, 'main.css.br'), brotliCompressSync('p { color: red }'));

const routes = [
  route({ ...base, method: 'GET', path: '/api/small', handle: () => Reply.json(200, { ok: true }) }),
  route({ ...base, method: 'GET', path: '/api/later', handle: async () => Reply.json(200, { later: true }) }),
  route({
    ...base,
    method: 'GET',
    path: '/api/large',
    handle: () => Reply.json(200, { text: 'x'.repeat(2_000) }),
  }),
  route({
    ...base,
    method: 'GET',
    path: '/api/large-later',
    handle: async () => Reply.json(200, ['y'.repeat(2_000)]),
  }),
  route({ ...base, method: 'GET', path: '/api/none', handle: () => new Reply(204, '', {}) }),
  route({
    ...base,
    method: 'POST',
    path: '/api/echo',
    body: v.unknown(),
    handle: ({ body }) => Reply.json(200, { body }),
  }),
  route({
    ...base,
    method: 'POST',
    path: '/api/count',
    handle: async ({ exchange }) => {
      let bytes = 0;
      for await (const piece of exchange.bodyPieces(2 ** 30, 2 ** 16)) {
        bytes += piece.length;
        // A reader that is slower than the client.
        if (exchange.query === 'slowly') await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return Reply.json(200, { bytes });
    },
  }),
  route({
    ...base,
    method: 'GET',
    path: '/api/files/{name}',
    handle: ({ params, exchange }) => sendFile(exchange, file(params.name)),
  }),
  route({
    ...base,
    method: 'GET',
    path: '/api/short',
    // The file has lost half of itself since it was looked at.
    handle: ({ exchange }) => sendFile(exchange, { ...file('letters.txt'), bytes: 52 }),
  }),
  route({
    ...base,
    method: 'GET',
    path: '/api/pieces',
    handle: async ({ exchange }) => {
      const body = exchange.stream(200, { 'content-type': 'text/plain' });
      for (const word of ['one ', 'two ', 'three']) await body.write(word);
      body.end();
      return undefined;
    },
  }),
  route({
    ...base,
    method: 'GET',
    path: '/api/long-pause',
    handle: async ({ exchange }) => {
      const body = exchange.stream(200, { 'content-type': 'text/plain' });
      await body.write('before ');
      await new Promise((resolve) => setTimeout(resolve, 14_000));
      await body.write('after');
      body.end();
      return undefined;
    },
  }),
  route({
    ...base,
    method: 'GET',
    path: '/api/wait',
    handle: ({ exchange }) =>
      new Promise<undefined>((resolve) => {
        exchange.signal.addEventListener('abort', () => {
          console.log('left');
          resolve(undefined);
        });
      }),
  }),
];
const face = {
  name: 'test',
  routes,
  presentError: errorReply,
  error: v.object({ error: v.string(), detail: v.string(), status_code: v.number() }),
};
const page = createAssets(pageDir);
let seq = 0;
const options: ServerOptions = {
  engine,
  faces: [face],
  fallback: face,
  allowedHosts: [],
  allowedOrigins: ['https://app.example'],
  trustedProxies: [],
  gate: openGate,
  jsonLimitBytes: 1_000,
  assets: page,
  socket: {
    path: '/ws/training',
    greet: (since) => [JSON.stringify({ since })],
    replay: () => [],
    onCount: (count) => console.log(`sockets ${count}`),
  },
  onError: (error) => console.log(`error ${error.message}`),
};
const server = createServer(options);
const port = await server.listen('127.0.0.1', 0);
// A second server on the port is refused.
await createServer(options)
  .listen('127.0.0.1', port)
  .then(
    () => console.log('shared'),
    (error: Error) => console.log(`refused: ${error.message}`),
  );
setInterval(() => {
  const text = JSON.stringify({ seq });
  server.broadcast.publish({ seq: seq++, text, droppable: false, stored: false });
}, 50);
process.on('SIGTERM', () => {
  server.close();
  setTimeout(() => process.exit(0), 100);
});
console.log(`listening ${port}`);
