import uWS, { type TemplatedApp, type us_listen_socket } from 'uWebSockets.js';
import { AppError, asAppError } from '../errors.ts';
import { Exchange } from './exchange.ts';
import { guardOrigin } from './guard.ts';
import { Reply } from './reply.ts';
import { type Face, runRoute } from './route.ts';
import { createRouter } from './router.ts';
import { type Broadcast, createBroadcast, type Greeting } from './sockets.ts';

export interface ServerOptions {
  readonly faces: readonly Face[];
  /** The face whose error format unknown paths get. */
  readonly fallback: Face;
  readonly allowedHosts: readonly string[];
  readonly jsonLimitBytes: number;
  readonly assets: (exchange: Exchange) => Reply | null;
  readonly socket: { path: string; greet: Greeting; onCount: (count: number) => void };
  /** Told of every failure that is ours. */
  readonly onError: (error: AppError, request: { method: string; path: string }) => void;
}

export interface Server {
  readonly broadcast: Broadcast;
  /**
   * Listens exclusively: a second server on the port is refused by the operating system.
   * @returns the port, which the system chose when `port` is 0.
   * @throws AppError `conflict` when the port is in use or may not be used.
   */
  listen(host: string, port: number): Promise<number>;
  /** Stops accepting, and closes sockets and idle connections. */
  close(): void;
}

export function createServer(options: ServerOptions): Server {
  const app: TemplatedApp & { close?: () => void } = uWS.App();
  const router = createRouter(options.faces, options.fallback);
  const broadcast = createBroadcast(app, options.socket.path, {
    greet: options.socket.greet,
    onCount: options.socket.onCount,
    allowedHosts: options.allowedHosts,
    presentError: options.fallback.presentError,
  });

  function serve(exchange: Exchange): void {
    let face = options.fallback;
    try {
      const found = router.find(exchange.method, exchange.path);
      if (found !== null) face = found.face;
      guard(exchange.header('host'), exchange.header('origin'));
      const reply =
        found === null
          ? unmatched(exchange)
          : 'allowed' in found
            ? refuseMethod(exchange, found.face, found.allowed)
            : runRoute(found.route, found.params(), exchange, options.jsonLimitBytes);
      if (reply instanceof Promise) void answerLater(exchange, face, reply);
      else if (reply !== undefined) exchange.send(reply);
    } catch (thrown) {
      fail(exchange, face, thrown);
    }
  }

  async function answerLater(
    exchange: Exchange,
    face: Face,
    coming: Promise<Reply | undefined>,
  ): Promise<void> {
    try {
      const reply = await coming;
      if (reply !== undefined) exchange.send(reply);
    } catch (thrown) {
      fail(exchange, face, thrown);
    }
  }

  function fail(exchange: Exchange, face: Face, thrown: unknown): void {
    const error = asAppError(thrown);
    if (error.kind === 'internal') options.onError(error, { method: exchange.method, path: exchange.path });
    exchange.send(face.presentError(error));
  }

  /** The last host that was let in without an origin: nearly every request names the same. */
  let trustedHost: string | undefined;
  function guard(host: string | undefined, origin: string | undefined): void {
    if (origin === undefined && host !== undefined && host === trustedHost) return;
    guardOrigin(host, origin, options.allowedHosts);
    if (origin === undefined) trustedHost = host;
  }

  function unmatched(exchange: Exchange): Reply {
    const asset = /^\/(api|v1)(\/|$)/.test(exchange.path) ? null : options.assets(exchange);
    if (asset !== null) return asset;
    throw new AppError(
      'not_found',
      `There is no ${exchange.path} here. The list of paths is at /api/openapi.json.`,
    );
  }

  function refuseMethod(exchange: Exchange, face: Face, allowed: string[]): Reply {
    const methods = [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
    if (exchange.method === 'OPTIONS') return new Reply(204, '', { allow: methods });
    const error = new AppError(
      'invalid',
      `${exchange.path} does not take ${exchange.method}; it takes ${methods}.`,
      {
        details: { status: 405 },
      },
    );
    const reply = face.presentError(error);
    return new Reply(reply.status, reply.body, { ...reply.headers, allow: methods });
  }

  app.any('/*', (res, req) => {
    const exchange = new Exchange(res, req);
    serve(exchange);
    exchange.keep();
  });

  let listening: us_listen_socket | false = false;
  return {
    broadcast,
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        const done = (socket: us_listen_socket | false) => {
          listening = socket;
          if (socket === false) {
            reject(
              new AppError('conflict', `Port ${port} on ${host} is in use, or may not be used by this user.`),
            );
          } else resolve(uWS.us_socket_local_port(socket));
        };
        listenExclusively(app, host, port, done);
      }),
    close: () => {
      if (listening) uWS.us_listen_socket_close(listening);
      listening = false;
      broadcast.close();
      app.close?.();
    },
  };
}

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it a second server on Linux shares the port silently. */
const exclusivePort = 1;

/** The typings lack the form with a host and options, which the library has. */
function listenExclusively(
  app: TemplatedApp,
  host: string,
  port: number,
  done: (socket: us_listen_socket | false) => void,
): void {
  const listen = app.listen as unknown as (h: string, p: number, options: number, d: typeof done) => void;
  listen.call(app, host, port, exclusivePort, done);
}
