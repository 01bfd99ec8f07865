import { createServer, type IncomingMessage, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { App, Engine, Handlers } from './engine.ts';
import { NodeCall } from './node-call.ts';
import { createNodeSockets } from './node-sockets.ts';
import { createPatience, idleMs } from './patience.ts';
import type { Tls } from './tls.ts';
import { rejectedRequest, responseOutside } from './unparsed.ts';

/** Headers longer than this close the connection. */
const maxHeaderBytes = 2 ** 15;

/** Node's own HTTP server with the package `ws`: slower than uWebSockets.js, but always available. */
export const nodeEngine: Engine = createNodeEngine(null);

/** @param tls serves HTTPS alone. */
export function createNodeEngine(tls: Pick<Tls, 'cert' | 'key'> | null): Engine {
  return {
    name: 'node',
    description: `the ${tls === null ? 'HTTP' : 'HTTPS'} server of Node ${process.versions.node}`,
    createApp: (handlers) => createApp(handlers, tls),
  };
}

function createApp<D>({ request, socket }: Handlers<D>, tls: Pick<Tls, 'cert' | 'key'> | null): App {
  const sockets = createNodeSockets(socket);
  const patience = createPatience();
  const serve = (req: IncomingMessage, res: ServerResponse) => request(new NodeCall(req, res, patience));
  const serveOutside = (req: IncomingMessage, connection: Duplex) => {
    const res = responseOutside(req, connection);
    if (res !== null) request(new NodeCall(req, res, null));
  };
  const options: ServerOptions & { shouldUpgradeCallback: (req: IncomingMessage) => boolean } = {
    maxHeaderSize: maxHeaderBytes,
    // The guard rejects requests without a host, in our error format.
    requireHostHeader: false,
    connectionsCheckingInterval: idleMs / 5,
    headersTimeout: idleMs,
    requestTimeout: 0,
    keepAliveTimeout: idleMs,
    // Older releases of Node emit the event for every upgrade.
    shouldUpgradeCallback: sockets.wants,
  };
  const server =
    tls === null
      ? createServer(options, serve)
      : createTlsServer({ ...options, cert: tls.cert, key: tls.key }, serve);
  server.on('upgrade', (req: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', () => connection.destroy());
    if (sockets.wants(req)) sockets.take(req, connection, head);
    // A server may ignore an upgrade (RFC 9110, section 7.8); curl offers HTTP/2 this way.
    else serveOutside(req, connection);
  });
  server.on('clientError', (error: Error & { code?: string; rawPacket?: Buffer }, connection) => {
    const req = rejectedRequest(error, connection);
    if (req === null) connection.destroy();
    else serveOutside(req, connection);
  });
  return {
    listen: (host, port) =>
      new Promise((resolve) => {
        server.once('error', () => resolve(null));
        server.listen({ host, port, exclusive: true }, () => resolve((server.address() as AddressInfo).port));
      }),
    publish: sockets.publish,
    close: () => {
      patience.end();
      sockets.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
