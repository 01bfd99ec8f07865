import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket as Connection } from 'node:net';
import type { Duplex } from 'node:stream';
import type * as Ws from 'ws';
import type { WebSocket } from 'ws';
import type { Frame, Socket, SocketHandlers } from './engine.ts';
import { NodeCall } from './node-call.ts';
import { responseOutside } from './unparsed.ts';

/** The WebSockets of one server, using the package `ws`. */
export function createNodeSockets<D>(handlers: SocketHandlers<D>) {
  // Loaded lazily: it would add a tenth to the start time with uWebSockets.js.
  const ws = createRequire(import.meta.url)('ws') as typeof Ws;
  /** Like uWebSockets.js, closes without a message if a client breaks the protocol or sends too much. */
  class StrictWebSocket extends ws.WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      if (code === 1002 || code === 1007 || code === 1009) this.terminate();
      else super.close(code, reason);
    }
  }
  const server = new ws.WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: handlers.maxMessageBytes,
    WebSocket: StrictWebSocket,
  });
  const sockets = new Set<NodeSocket<D>>();
  // Pings a silent client once, and closes if it stays silent for as long again.
  const check = setInterval(
    () => {
      for (const socket of sockets) socket.askOrLeave();
    },
    (handlers.idleSeconds * 1000) / 2,
  );
  check.unref();

  return {
    /** Whether a request is a valid handshake (RFC 6455, section 4.1). */
    wants: (req: IncomingMessage): boolean =>
      req.method === 'GET' &&
      req.headers.upgrade?.toLowerCase() === 'websocket' &&
      req.headers['sec-websocket-key']?.length === 24 &&
      (req.url as string).split('?', 1)[0] === handlers.path,
    /** Accepts or rejects a client. */
    take: (req: IncomingMessage, connection: Duplex, head: Buffer): void => {
      const res = responseOutside(req, connection);
      if (res === null) return;
      const data = handlers.upgrade(new NodeCall(req, res, null));
      if (data === null) return;
      res.detachSocket(connection as Connection);
      server.handleUpgrade(req, connection, head, (accepted) => {
        const socket = new NodeSocket(accepted, connection, data, handlers.maxBacklogBytes);
        sockets.add(socket);
        accepted.on('close', () => {
          if (sockets.delete(socket)) handlers.close(socket);
        });
        connection.on('drain', () => handlers.drain(socket));
        handlers.open(socket);
      });
    },
    publish: (frames: readonly Frame[]): void => {
      // Most sockets have the same topics, so their frames are combined once.
      const together = new Map<string, Buffer>();
      for (const socket of sockets) {
        const topics = frames.map(({ topic }) => (socket.topics.has(topic) ? '1' : '0')).join('');
        let bytes = together.get(topics);
        if (bytes === undefined) {
          const wanted = frames.filter(({ topic }) => socket.topics.has(topic));
          bytes = Buffer.concat(wanted.map(({ text }) => textFrame(text)));
          together.set(topics, bytes);
        }
        if (bytes.length > 0) socket.write(bytes);
      }
    },
    close: (): void => {
      clearInterval(check);
      for (const socket of sockets) socket.leave();
    },
  };
}

/** A complete text message from a server in wire format (RFC 6455, section 5.2). */
function textFrame(text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const extended = bytes < 126 ? 0 : bytes < 2 ** 16 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + extended + bytes);
  frame[0] = 0x81;
  frame[1] = extended === 0 ? bytes : extended === 2 ? 126 : 127;
  if (extended === 2) frame.writeUInt16BE(bytes, 2);
  else if (extended === 8) frame.writeBigUInt64BE(BigInt(bytes), 2);
  frame.write(text, 2 + extended);
  return frame;
}

class NodeSocket<D> implements Socket<D> {
  readonly data: D;
  readonly topics = new Set<string>();
  private readonly ws: WebSocket;
  private readonly connection: Duplex;
  private readonly maxBacklogBytes: number;
  private heard = true;
  private asked = false;

  constructor(ws: WebSocket, connection: Duplex, data: D, maxBacklogBytes: number) {
    this.ws = ws;
    this.connection = connection;
    this.data = data;
    this.maxBacklogBytes = maxBacklogBytes;
    const hear = () => {
      this.heard = true;
    };
    ws.on('message', hear).on('ping', hear).on('pong', hear);
    ws.on('error', () => ws.terminate());
  }

  /** Writes complete frames directly, because `ws` would frame them again for each socket. */
  write(frames: Buffer): void {
    if (this.ws.readyState !== this.ws.OPEN) return;
    this.connection.write(frames);
    if (this.connection.writableLength > this.maxBacklogBytes) this.ws.terminate();
  }

  send(text: string): void {
    this.write(textFrame(text));
  }

  backlogBytes(): number {
    return this.connection.writableLength;
  }

  subscribe(topic: string): void {
    this.topics.add(topic);
  }

  unsubscribe(topic: string): void {
    this.topics.delete(topic);
  }

  end(code: number, reason: string): void {
    this.ws.close(code, reason);
  }

  askOrLeave(): void {
    if (this.heard) this.asked = false;
    else if (this.asked) this.leave();
    else {
      this.asked = true;
      this.ws.ping();
    }
    this.heard = false;
  }

  leave(): void {
    this.ws.terminate();
  }
}
