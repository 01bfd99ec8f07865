import { AppError, asAppError } from '../errors.ts';
import { credentialsOf } from './access/credentials.ts';
import { crossOriginHeaders, preflightReply } from './access/cross-origin.ts';
import { refuseCrossSite } from './access/fetch-site.ts';
import type { Area, Gate } from './access/gate.ts';
import { type AllowedSites, guardOrigin } from './access/guard.ts';
import { scanHead } from './access/head-scan.ts';
import { createPeers, isLocalHost, localPeer } from './access/peers.ts';
import type { Call, Engine } from './engines/engine.ts';
import { withErrorHeaders } from './error-reply.ts';
import { Exchange } from './exchange.ts';
import { createInnerCall, type InnerReply, type InnerRequest } from './inner-call.ts';
import { Reply } from './reply.ts';
import { type Face, runRoute } from './route.ts';
import { areaOf, createRouter } from './router.ts';
import { type Broadcast, createBroadcast, type Greeting, type Replay } from './sockets.ts';

export interface ServerOptions extends AllowedSites {
  readonly engine: Engine;
  readonly faces: readonly Face[];
  /** The face whose error format unknown paths get. */
  readonly fallback: Face;
  /** IP addresses of proxies whose word on their clients is believed. */
  readonly trustedProxies: readonly string[];
  readonly gate: Gate;
  readonly jsonLimitBytes: number;
  readonly assets: (exchange: Exchange) => Reply | null;
  readonly socket: { path: string; greet: Greeting; replay: Replay; onCount: (count: number) => void };
  /** Called for every internal error. */
  readonly onError: (error: AppError, request: { method: string; path: string; requestId?: string }) => void;
}

export interface Server {
  readonly broadcast: Broadcast;
  /**
   * Listens exclusively: a second server on the port is refused by the operating system.
   * @returns the port, which the system chose when `port` is 0.
   * @throws AppError `conflict` when the port is in use or may not be used.
   */
  listen(host: string, port: number): Promise<number>;
  /** Answers a request as if the client of `outer` had sent it, with the same credentials; ends early when that client leaves. */
  ask(outer: Exchange, request: InnerRequest): Promise<InnerReply>;
  /** Stops accepting, and closes sockets and idle connections. */
  close(): void;
}

const asItIs = (error: AppError) => error;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the order in which a server closes is stated in one place
export function createServer(options: ServerOptions): Server {
  const { gate } = options;
  const router = createRouter(options.faces, options.fallback);
  const peers = createPeers(options.trustedProxies);
  /** Whether it listens on a loopback address: then asking for the client's would cost a tenth of a status request. */
  let onlyLocal = false;
  const peerOf = (call: Call, proxied: boolean) => (onlyLocal && !proxied ? localPeer : peers(call, proxied));
  const broadcast = createBroadcast({
    ...options.socket,
    allowed: options,
    presentError: options.fallback.presentError,
    peerOf,
    gate,
    publish: (frames) => app.publish(frames),
  });

  function serve(exchange: Exchange): void {
    const found = router.find(exchange.method, exchange.path);
    const face = found?.face ?? faceBelow(exchange.path);
    if (face.requestIds) exchange.addHeaders({ 'x-request-id': exchange.requestId });
    try {
      const origin = exchange.header('origin');
      if (guard(exchange.header('host'), origin)) {
        exchange.addHeaders(crossOriginHeaders(origin as string));
        const reply = preflightReply(exchange);
        if (reply !== null) {
          exchange.send(reply);
          return;
        }
      }
      // A link from another site may lead to the page.
      else if (found !== null) refuseCrossSite(exchange.header('sec-fetch-site'));
      admit(exchange, areaOf(found, exchange.path));
      const reply =
        found === null
          ? unmatched(exchange)
          : 'allowed' in found
            ? refuseMethod(exchange, found.face, found.allowed)
            : runRoute(found.route, found.params(), exchange, options.jsonLimitBytes, (kind, text) =>
                gate.checkPath(exchange.peer, exchange.holder, kind, text),
              );
      if (reply instanceof Promise) void answerLater(exchange, face, reply);
      else if (reply !== undefined) exchange.send(reply);
    } catch (thrown) {
      fail(exchange, face, thrown);
    }
  }

  /** The face whose error format an unknown path gets. */
  function faceBelow(path: string): Face {
    return (
      options.faces.find(({ root }) => root !== undefined && `${path}/`.startsWith(`${root}/`)) ??
      options.fallback
    );
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
    if (error.kind === 'internal') {
      const { method, path, requestId } = exchange;
      options.onError(error, face.requestIds ? { method, path, requestId } : { method, path });
    }
    exchange.send(withErrorHeaders(face.presentError(exchange.shown(error)), error));
  }

  function admit(exchange: Exchange, area: Area | null): void {
    if (area === null) return;
    const needsKey = gate.needsKey(exchange.peer);
    if (
      !needsKey &&
      exchange.header('authorization') === undefined &&
      exchange.header('x-api-key') === undefined
    )
      return;
    const credentials = credentialsOf((name) => exchange.header(name), gate.cookieName);
    exchange.holder = needsKey ? gate.admit(exchange.peer, credentials, area) : gate.limit(credentials, area);
  }

  /** Also closes the connection: where the request ends is as doubtful as the header. */
  function refuseRepeated(call: Call, name: string): void {
    const face = router.find(call.method, call.path)?.face ?? faceBelow(call.path);
    const reply = face.presentError(new AppError('invalid', `The request has more than one ${name} header.`));
    call.send(reply, call.method === 'HEAD' ? '' : reply.body, true);
  }

  /** The last accepted host without an origin, as a cache: it rarely changes. */
  let trustedHost: string | undefined;
  function guard(host: string | undefined, origin: string | undefined): boolean {
    if (origin === undefined && host !== undefined && host === trustedHost) return false;
    const isForeign = guardOrigin(host, origin, options);
    if (origin === undefined) trustedHost = host;
    return isForeign;
  }

  function unmatched(exchange: Exchange): Reply {
    const asset = /^\/(api|v1)(\/|$)/.test(exchange.path) ? null : options.assets(exchange);
    if (asset !== null) return asset;
    throw new AppError(
      'not_found',
      `Path ${exchange.path} not found. ${rootOf(exchange) ?? 'See /api/openapi.json for the available paths.'}`,
      { details: { code: null } },
    );
  }

  /** Says where the path is that a client with a wrong base URL looks for. */
  function rootOf({ method, path }: Exchange): string | null {
    const root = options.faces.find((face) => {
      const found = face.root === undefined ? null : router.find(method, face.root + path);
      return found !== null && found.face === face;
    })?.root;
    return root === undefined
      ? null
      : `Did you mean ${root}${path}? The base URL of that API ends in ${root}.`;
  }

  function refuseMethod(exchange: Exchange, face: Face, allowed: string[]): Reply {
    const methods = [...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
    if (exchange.method === 'OPTIONS') return new Reply(204, '', { allow: methods });
    const error = new AppError(
      'invalid',
      `${exchange.path} does not support ${exchange.method}; it supports ${methods}.`,
      {
        details: { status: 405 },
      },
    );
    const reply = face.presentError(error);
    return new Reply(reply.status, reply.body, { ...reply.headers, allow: methods });
  }

  function ask(outer: Exchange, request: InnerRequest): Promise<InnerReply> {
    const headers: Record<string, string> =
      request.body === null ? {} : { 'content-type': 'application/json' };
    for (const name of ['host', 'authorization', 'x-api-key', 'cookie'] as const) {
      const value = outer.header(name);
      if (value !== undefined) headers[name] = value;
    }
    return new Promise((resolve, reject) => {
      const { signal } = outer;
      signal.addEventListener('abort', () => reject(new AppError('invalid', 'The client has left.')));
      const exchange = new Exchange(
        createInnerCall(request, headers, signal, resolve),
        outer.peer,
        outer.shown,
      );
      serve(exchange);
      exchange.keep();
    });
  }

  const app = options.engine.createApp({
    request: (call) => {
      const { repeated, proxied } = scanHead(call);
      if (repeated !== null) return refuseRepeated(call, repeated);
      const peer = peerOf(call, proxied);
      const exchange = new Exchange(call, peer, peer.isLocal ? asItIs : gate.conceal);
      serve(exchange);
      exchange.keep();
    },
    socket: broadcast.handlers,
  });
  return {
    broadcast,
    ask,
    listen: async (host, port) => {
      onlyLocal = isLocalHost(host);
      const found = await app.listen(host, port);
      if (found === null) {
        throw new AppError(
          'conflict',
          `Port ${port} on ${host} is already in use, or this user is not allowed to use it.`,
        );
      }
      return found;
    },
    close: () => {
      broadcast.close();
      app.close();
    },
  };
}
