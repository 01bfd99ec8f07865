import type { BodyWriter, Exchange } from './exchange.ts';

/** A response of server-sent events. */
export interface EventStream {
  /** Whether an event was sent, and the headers with it: an earlier failure still gets a status code. */
  readonly isOpen: boolean;
  send(data: string, event?: string): void;
  /** Resolves when the client can take more. */
  taken(): Promise<unknown>;
  /** Resolves when the client has taken everything. */
  end(): Promise<void>;
}

export function createEventStream(exchange: Exchange): EventStream {
  let writer: BodyWriter | null = null;
  let written: Promise<unknown> = Promise.resolve();
  return {
    get isOpen() {
      return writer !== null;
    },
    send(data, event) {
      writer ??= exchange.stream(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
      const open = writer;
      const text = `${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`;
      written = written.then(() => open.write(text));
    },
    taken: () => written,
    async end() {
      await written;
      writer?.end();
    },
  };
}
