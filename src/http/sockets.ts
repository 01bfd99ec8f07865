import { AppError } from '../errors.ts';
import { type Credentials, credentialsOf } from './access/credentials.ts';
import type { Gate } from './access/gate.ts';
import { type AllowedSites, guardOrigin } from './access/guard.ts';
import { scanHead } from './access/head-scan.ts';
import type { Peer } from './access/peers.ts';
import { batchesOf, batchText, inOrder, type Message, type Published, takeBatch } from './batches.ts';
import type { App, Call, Socket, SocketHandlers } from './engines/engine.ts';
import { withErrorHeaders } from './error-reply.ts';
import type { Reply } from './reply.ts';

/** Above this a socket gets no more droppable frames; above `hardLimitBytes` it is closed. */
const softLimitBytes = 2 ** 18;
const hardLimitBytes = 2 ** 22;
const checkEveryMs = 500;
/** How soon a client whose key was removed is disconnected. */
const recheckEveryMs = 5_000;
/**
 * Frames are sent in batches ten times a second, because the cost is one write per socket. After a pause, the first few
 * are sent at once.
 */
const writes = { everyMs: 100, atOnce: 5 };

interface SocketData {
  since: number | null;
  /** Whether its messages are arrays of frames. */
  readonly batches: boolean;
  /** Whether it misses frames: droppable ones, or with batches all, which it is sent later. */
  behind: boolean;
  /** With batches, the frames that it has missed and that cannot be read again. */
  readonly missed: Published[];
  /** Texts to send before live frames; `null` once it receives those. */
  greeting: Iterator<string> | null;
  /** What it was admitted with, if it needed a key: checked again, because the key may be removed. */
  readonly admitted: Credentials | null;
}

/**
 * The first texts for a socket, in order. The next one is requested as the client receives them, and must include what
 * has happened in the meantime.
 */
export type Greeting = (since: number | null) => Iterable<string>;

/** The stored frames after `since`, including those stored during iteration. */
export type Replay = (since: number) => Iterable<{ readonly seq: number; readonly text: string }>;

/** All clients of one WebSocket path. */
export interface Broadcast {
  /** Sends a frame to all clients; slow clients miss droppable ones. */
  publish(frame: Published): void;
  count(): number;
  close(): void;
}

/**
 * Serves a server-to-client WebSocket at `path`. A slow client first misses droppable frames and is closed before its
 * buffer exceeds `hardLimitBytes`. It can then reconnect with `?since=SEQ` and misses nothing. With `?batches=true`
 * messages are arrays of frames, and a slow client is sent what it has missed as soon as it can take it.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the sockets and what each has yet to be sent
export function createBroadcast(options: {
  path: string;
  greet: Greeting;
  replay: Replay;
  allowed: AllowedSites;
  peerOf: (call: Call, proxied: boolean) => Peer;
  gate: Gate;
  presentError: (error: AppError) => Reply;
  /** Called when the number of clients changes. */
  onCount?: (count: number) => void;
  publish: App['publish'];
}): Broadcast & { readonly handlers: SocketHandlers<SocketData> } {
  const sockets = new Set<Socket<SocketData>>();

  /** Sends as much of the greeting as the client accepts, then subscribes it to live frames. */
  function greet(socket: Socket<SocketData>): void {
    const { data } = socket;
    while (data.greeting !== null && socket.backlogBytes() < softLimitBytes) {
      if (data.batches) {
        const { batch, isOver } = takeBatch(data.greeting);
        if (isOver) {
          goOn(socket);
          batch.push(...data.missed.splice(0).map(({ text }) => text));
        }
        if (batch.length > 0) socket.send(batchText(batch));
        continue;
      }
      const next = data.greeting.next();
      if (next.done) {
        goOn(socket);
        socket.subscribe('all');
        socket.subscribe('droppable');
      } else socket.send(next.value);
    }
  }

  /** Ends a greeting, which already included the pending frames. */
  function goOn({ data }: Socket<SocketData>): void {
    flush();
    data.greeting = null;
    data.behind = false;
  }

  /**
   * Sends frames to the clients of batches, as far as each can take them; one that is behind will read the rest from the
   * log.
   */
  function sendBatches(frames: readonly Published[]): void {
    let messages: readonly Message[] | null = null;
    for (const socket of sockets) {
      const { data } = socket;
      if (!data.batches) continue;
      let sent = 0;
      if (data.greeting === null) {
        messages ??= batchesOf(frames);
        for (const { text, count } of messages) {
          if (socket.backlogBytes() >= softLimitBytes) break;
          socket.send(text);
          sent += count;
        }
        const next = frames[sent];
        if (next === undefined) continue;
        data.behind = true;
        data.greeting = inOrder(options.replay(next.seq - 1), data.missed);
        for (const frame of frames.slice(sent)) keep(socket, frame);
      }
    }
  }

  /** Keeps what a client that is behind could not read again, unless it takes nothing for too long. */
  function keep(socket: Socket<SocketData>, frame: Published): void {
    const { missed } = socket.data;
    if (frame.stored || frame.droppable) return;
    missed.push(frame);
    if (missed.reduce((sum, { text }) => sum + text.length, 0) <= hardLimitBytes) return;
    missed.length = 0;
    // 1013: try again later (IANA's registry of close codes).
    socket.end(1013, 'The client reads too slowly');
  }

  const gathered: Published[] = [];
  /** When the next write would be due, were they evenly spread (the generic cell rate algorithm, ITU-T I.371). */
  let dueAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | null = null;
  const flush = () => {
    cancel?.();
    cancel = null;
    if (gathered.length === 0) return;
    const now = performance.now();
    // A new client's write is not delayed, and does not delay later ones further.
    dueAt = Math.min(Math.max(dueAt, now) + writes.everyMs, now + writes.atOnce * writes.everyMs);
    const frames = gathered.splice(0);
    options.publish(frames.map(({ text, droppable }) => ({ text, topic: droppable ? 'droppable' : 'all' })));
    sendBatches(frames);
  };
  const flushSoon = () => {
    const waitMs = dueAt - (writes.atOnce - 1) * writes.everyMs - performance.now();
    if (waitMs <= 0) {
      const soon = setImmediate(flush);
      cancel = () => clearImmediate(soon);
    } else {
      const later = setTimeout(flush, waitMs);
      cancel = () => clearTimeout(later);
    }
  };
  const handlers: SocketHandlers<SocketData> = {
    path: options.path,
    maxMessageBytes: 4_096,
    maxBacklogBytes: hardLimitBytes,
    idleSeconds: 60,
    upgrade: (call) => {
      const query = new URLSearchParams(call.query);
      const [since, batches] = [query.get('since'), query.get('batches')];
      const { repeated, proxied } = scanHead(call);
      const peer = options.peerOf(call, proxied);
      let admitted: SocketData['admitted'] = null;
      try {
        if (repeated !== null) {
          throw new AppError('invalid', `The request has more than one ${repeated} header.`);
        }
        guardOrigin(call.header('host'), call.header('origin') || undefined, options.allowed);
        if (options.gate.needsKey(peer)) {
          admitted = credentialsOf((name) => call.header(name), options.gate.cookieName);
          options.gate.admit(peer, admitted, 'full');
        }
        if (since !== null && !/^\d{1,15}$/.test(since)) {
          throw new AppError('invalid', `since must be an integer, not "${since.slice(0, 40)}".`);
        }
        if (batches !== null && batches !== 'true') {
          throw new AppError('invalid', `batches must be true, not "${batches.slice(0, 40)}".`);
        }
      } catch (error) {
        const reply = withErrorHeaders(options.presentError(error as AppError), error as AppError);
        call.send(reply, reply.body, true);
        return null;
      }
      return {
        since: since === null ? null : Number(since),
        batches: batches !== null,
        missed: [],
        behind: false,
        greeting: null,
        admitted,
      };
    },
    open: (socket) => {
      socket.data.greeting = options.greet(socket.data.since)[Symbol.iterator]();
      sockets.add(socket);
      options.onCount?.(sockets.size);
      greet(socket);
    },
    drain: (socket) => {
      const { data } = socket;
      if (data.greeting !== null) greet(socket);
      else if (data.behind && socket.backlogBytes() === 0) {
        data.behind = false;
        socket.subscribe('droppable');
      }
    },
    close: (socket) => {
      if (sockets.delete(socket)) options.onCount?.(sockets.size);
    },
  };
  const recheck = setInterval(() => {
    for (const socket of [...sockets]) {
      // 1008: policy violation (RFC 6455, section 7.4.1).
      const { admitted } = socket.data;
      if (admitted !== null && !options.gate.knows(admitted)) {
        socket.end(1008, 'The access key was removed, or the session has ended');
      }
    }
  }, recheckEveryMs);
  recheck.unref();
  const check = setInterval(() => {
    for (const socket of sockets) {
      const { data } = socket;
      if (data.greeting === null && !data.batches && !data.behind && socket.backlogBytes() > softLimitBytes) {
        data.behind = true;
        socket.unsubscribe('droppable');
      }
    }
  }, checkEveryMs);
  check.unref();
  return {
    handlers,
    publish: (frame) => {
      gathered.push(frame);
      // At once: what is stored after it can be read before the next write.
      for (const socket of sockets) if (socket.data.behind && socket.data.batches) keep(socket, frame);
      if (cancel === null) flushSoon();
    },
    count: () => sockets.size,
    close: () => {
      clearInterval(check);
      clearInterval(recheck);
      flush();
      for (const socket of [...sockets]) socket.end(1001, 'The service is stopping');
    },
  };
}
