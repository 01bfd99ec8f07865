import type { TemplatedApp, WebSocket } from 'uWebSockets.js';
import { AppError } from '../errors.ts';
import { guardOrigin } from './guard.ts';
import type { Reply } from './reply.ts';

/** Above this a socket gets no more droppable frames; above `hardLimitBytes` it is closed. */
const softLimitBytes = 2 ** 18;
const hardLimitBytes = 2 ** 22;
const checkEveryMs = 500;
/**
 * Frames go out together, ten times a second: what a frame costs is one write to each socket. After a pause the first
 * few go out at once, for somebody waits for them.
 */
const writes = { everyMs: 100, atOnce: 5 };

interface SocketData {
  since: number | null;
  behind: boolean;
  /** What is still to be told before what happens now; `null` once it hears that. */
  greeting: Iterator<string> | null;
}

/**
 * What a socket is told first: texts to send in order. It is asked for the next as the reader takes them, and
 * must then also give what has happened meanwhile.
 */
export type Greeting = (since: number | null) => Iterable<string>;

/** Everyone who listens on one WebSocket path. */
export interface Broadcast {
  /** Sends a text frame to all; a droppable one is left out for readers that are behind. */
  publish(text: string, droppable: boolean): void;
  count(): number;
  close(): void;
}

/**
 * Serves a WebSocket at `path` on which the server alone speaks. Each reader is bounded: one that is
 * behind loses droppable frames first, and is closed before its backlog grows past `hardLimitBytes`; it
 * then connects again with `?since=SEQ` and misses nothing.
 */
export function createBroadcast(
  app: TemplatedApp,
  path: string,
  options: {
    greet: Greeting;
    allowedHosts: readonly string[];
    presentError: (error: AppError) => Reply;
    /** Told when the number of readers changes. */
    onCount?: (count: number) => void;
  },
): Broadcast {
  const sockets = new Set<WebSocket<SocketData>>();

  /** Tells as much of the greeting as the reader takes; after the last it hears what happens now. */
  function greet(ws: WebSocket<SocketData>, data: SocketData): void {
    while (data.greeting !== null && ws.getBufferedAmount() < softLimitBytes) {
      const next = data.greeting.next();
      if (next.done) {
        // What waits to go out has been told to this one.
        flush();
        data.greeting = null;
        ws.subscribe('all');
        ws.subscribe('droppable');
      } else ws.send(next.value);
    }
  }

  const gathered: { readonly topic: string; readonly text: string }[] = [];
  /** When the next write would be due, were they evenly spread (the generic cell rate algorithm, ITU-T I.371). */
  let dueAt = Number.NEGATIVE_INFINITY;
  let cancel: (() => void) | null = null;
  const flush = () => {
    cancel?.();
    cancel = null;
    if (gathered.length === 0) return;
    const now = performance.now();
    // A write that a newcomer brings about is not put off, and puts off no later one further than these.
    dueAt = Math.min(Math.max(dueAt, now) + writes.everyMs, now + writes.atOnce * writes.everyMs);
    // What is published within one turn of the event loop is one write to each socket.
    for (const { topic, text } of gathered.splice(0)) app.publish(topic, text);
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
  app.ws<SocketData>(path, {
    maxPayloadLength: 4_096,
    maxBackpressure: hardLimitBytes,
    closeOnBackpressureLimit: 1,
    idleTimeout: 60,
    sendPingsAutomatically: true,
    upgrade: (res, req, context) => {
      const since = new URLSearchParams(req.getQuery()).get('since');
      try {
        guardOrigin(req.getHeader('host'), req.getHeader('origin') || undefined, options.allowedHosts);
        if (since !== null && !/^\d{1,15}$/.test(since)) {
          throw new AppError('invalid', `since must be a whole number, not "${since.slice(0, 40)}".`);
        }
      } catch (error) {
        const reply = options.presentError(error as AppError);
        res.cork(() => {
          res
            .writeStatus(String(reply.status))
            .writeHeader('content-type', 'application/json')
            .end(reply.body);
        });
        return;
      }
      res.upgrade<SocketData>(
        { since: since === null ? null : Number(since), behind: false, greeting: null },
        req.getHeader('sec-websocket-key'),
        req.getHeader('sec-websocket-protocol'),
        req.getHeader('sec-websocket-extensions'),
        context,
      );
    },
    open: (ws) => {
      const data = ws.getUserData();
      data.greeting = options.greet(data.since)[Symbol.iterator]();
      sockets.add(ws);
      options.onCount?.(sockets.size);
      greet(ws, data);
    },
    drain: (ws) => {
      const data = ws.getUserData();
      if (data.greeting !== null) greet(ws, data);
      else if (data.behind && ws.getBufferedAmount() === 0) {
        data.behind = false;
        ws.subscribe('droppable');
      }
    },
    close: (ws) => {
      if (sockets.delete(ws)) options.onCount?.(sockets.size);
    },
  });
  const check = setInterval(() => {
    for (const ws of sockets) {
      const data = ws.getUserData();
      if (data.greeting === null && !data.behind && ws.getBufferedAmount() > softLimitBytes) {
        data.behind = true;
        ws.unsubscribe('droppable');
      }
    }
  }, checkEveryMs);
  check.unref();
  return {
    publish: (text, droppable) => {
      gathered.push({ topic: droppable ? 'droppable' : 'all', text });
      if (cancel === null) flushSoon();
    },
    count: () => sockets.size,
    close: () => {
      clearInterval(check);
      flush();
      for (const ws of [...sockets]) ws.end(1001, 'The service is stopping');
    },
  };
}
