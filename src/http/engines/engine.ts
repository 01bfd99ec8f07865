/**
 * What an HTTP library must provide. Routes, limits, error formats and backpressure are implemented once, above this
 * interface; below it are uWebSockets.js and Node's own `http` with `ws`. Both must give the same responses, except for
 * `Date` and the order of headers: `test/http/engines.test.ts` compares them byte by byte.
 */
export type EngineName = 'uws' | 'node';

export interface Engine {
  readonly name: EngineName;
  /** The library and its version, for display. */
  readonly description: string;
  createApp<D>(handlers: Handlers<D>): App;
}

/** Handlers for requests and for one WebSocket path. */
export interface Handlers<D> {
  request(call: Call): void;
  readonly socket: SocketHandlers<D>;
}

export interface App {
  /**
   * Listens exclusively: a second server on the port is refused by the operating system.
   * @returns the port, which the system chose when `port` is 0; `null` when it is in use or may not be used.
   */
  listen(host: string, port: number): Promise<number | null>;
  /** Sends frames in order to every socket subscribed to their topics, with one write per socket. */
  publish(frames: readonly Frame[]): void;
  /** Stops accepting, and closes every connection. */
  close(): void;
}

/** A text frame of a topic. */
export interface Frame {
  readonly topic: string;
  readonly text: string;
}

export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * One request and its response. Respond with `send`, or `sendHead`, or `begin`, any number of `write`, and `end`.
 * Do not use a call after its response is complete or after `onAborted`.
 */
export interface Call {
  /** In upper case. */
  readonly method: string;
  /** As it was sent, without the query. */
  readonly path: string;
  readonly query: string;
  /** The first header of that name (in lower case), or ''. Available only until the handler returns. */
  header(name: string): string;
  /** Every header in order, with its name in lower case. Available only until the handler returns. */
  eachHeader(take: (name: string, value: string) => void): void;
  /** The IP address of the other end of the connection, in any spelling, or ''. Available only until the handler returns. */
  remoteAddress(): string;
  /** Must be called before the handler returns, unless the response has been sent. */
  onAborted(told: () => void): void;
  /**
   * Sets the receiver of the body. Must be called before the handler returns. A chunk is valid until `take` returns.
   */
  onData(take: (piece: Uint8Array, isLast: boolean) => void): void;
  pause(): void;
  resume(): void;
  /** @param closing sends `Connection: close` and closes. */
  send(head: Head, body: string | Uint8Array, closing?: boolean): void;
  /** A response without a body. @param lengthBytes the length of the body that a GET would get; absent for 204 and 304. */
  sendHead(head: Head, lengthBytes?: number): void;
  /** @param lengthBytes for `Content-Length`; `null` for chunked transfer. */
  begin(head: Head, lengthBytes: number | null): void;
  /**
   * @returns a promise that resolves when the client can take more (or has left), or `null` if it can now. Until then, the
   *   chunk's memory must not change.
   */
  write(piece: string | Uint8Array): Promise<void> | null;
  end(): void;
  /** Resets the connection, for a response that cannot be completed. */
  close(): void;
}

export interface SocketHandlers<D> {
  readonly path: string;
  /** A longer message closes the connection. */
  readonly maxMessageBytes: number;
  /** A socket is closed when its send buffer exceeds this. */
  readonly maxBacklogBytes: number;
  /** A socket that sends nothing for this long, not even pongs, is closed. */
  readonly idleSeconds: number;
  /** Accepts a client and returns its socket's data, or responds to the call and returns `null`. */
  upgrade(call: Call): D | null;
  open(socket: Socket<D>): void;
  /** Part of the send buffer has been sent. */
  drain(socket: Socket<D>): void;
  close(socket: Socket<D>): void;
}

/** The server's end of a WebSocket. */
export interface Socket<D> {
  readonly data: D;
  send(text: string): void;
  /** Bytes sent but not yet accepted by the operating system. */
  backlogBytes(): number;
  subscribe(topic: string): void;
  unsubscribe(topic: string): void;
  /** Closes with a close code (RFC 6455, section 7.4). */
  end(code: number, reason: string): void;
}
