import type { TemplatedApp, us_listen_socket, us_socket_context_t, WebSocket } from 'uWebSockets.js';
import { createRequire } from 'node:module';
import type { App, Engine, Handlers, Socket } from './engine.ts';
import { UwsCall } from './uws-call.ts';

/** The exports of the native file that we use. */
interface Library {
  App(): TemplatedApp & { close?: () => void };
  us_socket_local_port(socket: us_listen_socket): number;
  us_listen_socket_close(socket: us_listen_socket): void;
  _cfg?: (key: string) => void;
}

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it a second server on Linux shares the port silently. */
const exclusivePort = 1;
/** Omits the header with the library's name and version. */
const withoutMark = '999999990007';

/**
 * uWebSockets.js, loaded from its native file. The package's JavaScript entry is not used, because its fallback crashes on
 * the first request.
 * @throws Error if the file does not fit this system, processor, C library or Node.
 */
export function createUwsEngine(nativePath: string, version: string): Engine {
  const library = createRequire(import.meta.url)(nativePath) as Library;
  library._cfg?.(withoutMark);
  return {
    name: 'uws',
    description: `uWebSockets.js ${version}`,
    createApp: (handlers) => createApp(library, handlers),
  };
}

function createApp<D>(library: Library, { request, socket }: Handlers<D>): App {
  const app = library.App();
  app.ws<{ data: D; socket: UwsSocket<D> | null }>(socket.path, {
    maxPayloadLength: socket.maxMessageBytes,
    maxBackpressure: socket.maxBacklogBytes,
    closeOnBackpressureLimit: 1,
    idleTimeout: socket.idleSeconds,
    sendPingsAutomatically: true,
    upgrade: (res, req, context: us_socket_context_t) => {
      const data = socket.upgrade(new UwsCall(res, req));
      if (data === null) return;
      res.upgrade(
        { data, socket: null },
        req.getHeader('sec-websocket-key'),
        req.getHeader('sec-websocket-protocol'),
        req.getHeader('sec-websocket-extensions'),
        context,
      );
    },
    open: (ws) => {
      const kept = ws.getUserData();
      kept.socket = new UwsSocket(ws, kept.data);
      socket.open(kept.socket);
    },
    drain: (ws) => socket.drain(ws.getUserData().socket as Socket<D>),
    close: (ws) => socket.close(ws.getUserData().socket as Socket<D>),
  });
  app.any('/*', (res, req) => {
    const call = new UwsCall(res, req);
    request(call);
    call.leave();
  });
  let listening: us_listen_socket | false = false;
  return {
    listen: (host, port) =>
      new Promise((resolve) => {
        // The library supports a host with options, but its typings do not.
        type Listen = (h: string, p: number, o: number, done: (s: us_listen_socket | false) => void) => void;
        (app.listen as unknown as Listen).call(app, host, port, exclusivePort, (found) => {
          listening = found;
          resolve(found === false ? null : library.us_socket_local_port(found));
        });
      }),
    publish: (frames) => {
      // Everything published in one turn of the event loop is one write per socket.
      for (const { topic, text } of frames) app.publish(topic, text);
    },
    close: () => {
      if (listening) library.us_listen_socket_close(listening);
      listening = false;
      app.close?.();
    },
  };
}

class UwsSocket<D> implements Socket<D> {
  readonly data: D;
  private readonly ws: WebSocket<unknown>;

  constructor(ws: WebSocket<unknown>, data: D) {
    this.ws = ws;
    this.data = data;
  }

  send(text: string): void {
    this.ws.send(text);
  }

  backlogBytes(): number {
    return this.ws.getBufferedAmount();
  }

  subscribe(topic: string): void {
    this.ws.subscribe(topic);
  }

  unsubscribe(topic: string): void {
    this.ws.unsubscribe(topic);
  }

  end(code: number, reason: string): void {
    this.ws.end(code, reason);
  }
}
