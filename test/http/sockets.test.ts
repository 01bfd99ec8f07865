/** What a socket of the service bears: readers that are slow, or silent, or ask for what cannot be. */
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as v from 'valibot';
import WebSocket from 'ws';
import type { NativeFile } from '../../src/http/engines/choose.ts';
import type { EngineName } from '../../src/http/engines/engine.ts';
import { nodeEngine } from '../../src/http/engines/node.ts';
import { createUwsEngine } from '../../src/http/engines/uws.ts';
import { errorReply } from '../../src/http/error-reply.ts';
import { createServer, type Server } from '../../src/http/server.ts';
import { type Json, until } from '../service.ts';
import { engines, native } from './engines.ts';
import { openGate } from './open-gate.ts';

const face = {
  name: 'none',
  routes: [],
  presentError: errorReply,
  error: v.object({ error: v.string(), detail: v.string(), status_code: v.number() }),
};
const { path, version } = (native ?? {}) as NativeFile;

/** Everything below, on one of the engines. */
function testOn(name: EngineName): void {
  const test = suite(name);
  /** What is told again to a socket that names a frame, by that. */
  const told: (number | null)[] = [];
  let replay: Iterable<string> = [];
  /** The frames that can be read again, of those of a client of batches. */
  const stored: { seq: number; text: string }[] = [];
  let server: Server;
  let url = '';

  test.before(async () => {
    server = createServer({
      engine: name === 'uws' ? createUwsEngine(path, version) : nodeEngine,
      faces: [face],
      fallback: face,
      allowedHosts: [],
      allowedOrigins: [],
      trustedProxies: [],
      gate: openGate,
      jsonLimitBytes: 1000,
      assets: () => null,
      socket: {
        path: '/ws/training',
        greet: (since) => {
          told.push(since);
          return replay;
        },
        *replay(since) {
          // An index, because more are stored meanwhile.
          for (let place = 0; place < stored.length; place += 1) {
            const one = stored[place] as (typeof stored)[number];
            if (one.seq > since) yield one;
          }
        },
        onCount: () => undefined,
      },
      onError: () => undefined,
    });
    url = `ws://127.0.0.1:${await server.listen('127.0.0.1', 0)}/ws/training`;
  });
  test.after(() => server.close());

  const large = 'x'.repeat(64_000);
  const frame = (seq: number, droppable: boolean) => JSON.stringify({ seq, droppable, large });
  const publish = (seq: number, droppable: boolean, isStored = false) => {
    const text = frame(seq, droppable);
    if (isStored) stored.push({ seq, text });
    server.broadcast.publish({ seq, text, droppable, stored: isStored });
  };

  /** A reader with what it has got. */
  async function connect(query = '') {
    const socket = new WebSocket(url + query);
    const got: Json[] = [];
    /** How many frames each message has; `null` if it is no array. */
    const messages: (number | null)[] = [];
    socket.on('message', (data) => {
      // Its bulk would be counted with the memory of the server, which is in this process.
      const said = JSON.parse(data.toString());
      for (const { large: _, ...rest } of Array.isArray(said) ? said : [said]) got.push(rest);
      messages.push(Array.isArray(said) ? said.length : null);
    });
    const closed = once(socket, 'close').then(([code]) => code as number);
    await once(socket, 'open');
    return { socket, got, messages, closed };
  }

  test('a reader that stands still is closed before its backlog grows, and costs the others nothing', async () => {
    const [slow, quick] = [await connect(), await connect()];
    slow.socket.pause();
    const before = process.memoryUsage.rss();
    const count = 2_000;
    for (let seq = 1; seq <= count; seq += 1) {
      publish(seq, false);
      // The loop must turn for the quick one to read.
      if (seq % 20 === 0)
        await until(() => (quick.got.at(-1)?.seq ?? 0) >= seq - 20, 'the quick one has read');
    }
    await until(() => quick.got.length === count, 'the quick one has all');
    await until(() => server.broadcast.count() === 1, 'the slow one was closed');
    // 128 MB were sent; what is kept for a reader is bounded by 4 MiB, beside what the test itself holds.
    quick.got.length = 0;
    assert.ok(process.memoryUsage.rss() - before < 300e6);
    slow.socket.resume();
    await slow.closed;
    assert.ok(slow.got.length < count, 'it was not told everything');
    const last = slow.got.at(-1)?.seq ?? 0;
    assert.equal(
      slow.got.map(({ seq }) => seq),
      Array.from({ length: last }, (_, place) => place + 1),
      'what it got has no gap',
    );
    const again = await connect(`?since=${last}`);
    assert.is(told.at(-1), last, 'it can ask for the rest');
    again.socket.close();
    quick.socket.close();
    await Promise.all([again.closed, quick.closed]);
  });

  test('a reader that is behind loses droppable frames first, and no other', async () => {
    const { socket, got, closed } = await connect();
    socket.pause();
    let seq = 0;
    // Beyond what the system buffers on its own, but below what closes the connection.
    const kept: number[] = [];
    const dropped: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      for (let times = 0; times < 8; times += 1) {
        seq += 1;
        publish(seq, false);
        kept.push(seq);
      }
      await new Promise((resolve) => setTimeout(resolve, 700));
      if (server.broadcast.count() === 0) break;
      for (let times = 0; times < 8; times += 1) {
        seq += 1;
        publish(seq, true);
        dropped.push(seq);
      }
    }
    assert.is(server.broadcast.count(), 1, 'it is still connected');
    socket.resume();
    await until(
      () => got.some(({ seq: last }) => last === kept.at(-1)),
      'the last that may not be lost came',
    );
    const numbers = new Set(got.map(({ seq: number }) => number));
    assert.ok(kept.every((number) => numbers.has(number)));
    assert.ok(dropped.filter((number) => numbers.has(number)).length < dropped.length, 'some were left out');
    socket.close();
    await closed;
  });

  test('a long replay is told as the reader takes it, and then what happened meanwhile', async () => {
    const count = 1_000;
    let given = 0;
    replay = (function* () {
      for (given = 1; given <= count; given += 1) yield frame(given, false);
    })();
    const { socket, got, closed } = await connect('?since=0');
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.ok(given < count / 2, `of 64 MB no more is read than it can take, not ${given} frames`);
    socket.resume();
    await until(() => got.length === count, 'all came');
    publish(count + 1, false);
    await until(() => got.length > count, 'it hears what happens now');
    assert.equal(
      got.map(({ seq }) => seq),
      got.map((_, place) => place + 1),
    );
    replay = [];
    socket.close();
    await closed;
  });

  test('a reader of batches gets arrays, with several frames that come together', async () => {
    replay = [1, 2, 3].map((seq) => JSON.stringify({ seq }));
    const { socket, got, messages, closed } = await connect('?batches=true');
    await until(() => got.length === 3, 'it is greeted');
    assert.equal(messages, [3]);
    const count = 5;
    for (let seq = 4; seq < 4 + count; seq += 1) {
      const text = JSON.stringify({ seq });
      server.broadcast.publish({ seq, text, droppable: seq % 2 === 0, stored: false });
    }
    await until(() => got.length === 3 + count, 'all came');
    assert.equal(messages, [3, count]);
    replay = [];
    socket.close();
    await closed;
  });

  test('a reader of batches that stands still is not closed, and gets in order what cannot be dropped', async () => {
    const { socket, got, messages, closed } = await connect('?batches=true');
    socket.pause();
    const count = 600;
    // Every tenth frame is not stored, every hundredth is droppable, too.
    for (let seq = 1; seq <= count; seq += 1) {
      publish(seq, seq % 100 === 0, seq % 10 !== 0);
      if (seq % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.is(server.broadcast.count(), 1, 'it is still connected');
    assert.is(got.length, 0);
    socket.resume();
    await until(() => got.at(-1)?.seq >= count - 1, 'all came');
    publish(count + 1, false);
    await until(() => got.at(-1)?.seq === count + 1, 'it hears what happens now');
    const kept = Array.from({ length: count + 1 }, (_, place) => place + 1).filter((seq) => seq % 100 !== 0);
    assert.equal(
      got.filter(({ droppable }) => !droppable).map(({ seq }) => seq),
      kept,
    );
    assert.ok(got.length < count + 1, 'droppable ones were left out');
    assert.ok(messages.every((length) => length !== null));
    stored.length = 0;
    socket.close();
    await closed;
  });

  test('what a reader of batches missed last comes before what was stored after it', async () => {
    const { socket, got, closed } = await connect('?batches=true');
    socket.pause();
    const count = 200;
    for (let seq = 1; seq <= count; seq += 1) publish(seq, false, true);
    await new Promise((resolve) => setTimeout(resolve, 300));
    let last = count;
    const tell = (isStored: boolean) => {
      last += 1;
      publish(last, false, isStored);
    };
    socket.on('message', () => {
      // Several writes one after the other, so that the next one has to wait.
      while (last < count + 10 && got.length >= 10 * (last - count)) tell(true);
      if (last !== count + 10 || got.length < count - 20) return;
      tell(false);
      tell(true);
    });
    socket.resume();
    await until(() => got.length === count + 12, 'all came');
    assert.equal(
      got.map(({ seq }) => seq),
      got.map((_, place) => place + 1),
    );
    stored.length = 0;
    socket.close();
    await closed;
  });

  test('a reader of batches gets more at once than its buffer holds', async () => {
    const { socket, got, closed } = await connect('?batches=true');
    socket.pause();
    const count = 400;
    for (let seq = 1; seq <= count; seq += 1) publish(seq, false, seq % 10 !== 0);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.is(server.broadcast.count(), 1, 'it is still connected');
    socket.resume();
    await until(() => got.length >= count, 'all came');
    assert.equal(
      got.map(({ seq }) => seq),
      Array.from({ length: count }, (_, place) => place + 1),
    );
    stored.length = 0;
    socket.close();
    await closed;
  });

  test('a reader of batches that takes nothing is closed before what cannot be read again grows', async () => {
    const { socket, got, closed } = await connect('?batches=true');
    socket.pause();
    const count = 300;
    for (let seq = 1; seq <= count; seq += 1) {
      publish(seq, false);
      if (seq % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 120));
    }
    socket.resume();
    await closed;
    assert.ok(got.length < count, 'it was not told everything');
  });

  test('a reader is pinged, and what it says is ignored', async () => {
    const { socket, closed } = await connect();
    socket.send('hello');
    socket.ping();
    await once(socket, 'pong');
    assert.is(socket.readyState, WebSocket.OPEN);
    socket.send('x'.repeat(10_000));
    assert.is(await closed, 1006, 'more than a few words are not taken');
  });

  test('since must be a whole number', async () => {
    for (const since of ['x', '-1', '1.5', '', '9'.repeat(16)]) {
      const socket = new WebSocket(`${url}?since=${since}`);
      const [, response] = await once(socket, 'unexpected-response');
      assert.is(response.statusCode, 400, since);
      let body = '';
      for await (const chunk of response) body += chunk;
      assert.is(JSON.parse(body).status_code, 400);
      socket.on('error', () => undefined);
      socket.terminate();
    }
  });

  test('batches are true or not asked for', async () => {
    const socket = new WebSocket(`${url}?batches=1`);
    const [, response] = await once(socket, 'unexpected-response');
    assert.is(response.statusCode, 400);
    socket.on('error', () => undefined);
    socket.terminate();
  });
  test.run();
}

for (const name of engines) testOn(name);
