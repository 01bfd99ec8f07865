import type { Call } from './engines/engine.ts';

/** A request that the service makes of itself for a client, whose rights it has. */
export interface InnerRequest {
  readonly method: string;
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
  /** JSON; `null` for none. */
  readonly body: string | null;
}

export interface InnerReply {
  readonly status: number;
  readonly body: string;
}

/**
 * A call that no HTTP library made.
 * @param headers in lower case.
 * @param answered is called once, with the response.
 */
export function createInnerCall(
  { method, path, query, body }: InnerRequest,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  answered: (reply: InnerReply) => void,
): Call {
  let status = 500;
  const pieces: Buffer[] = [];
  const write = (piece: string | Uint8Array) => {
    pieces.push(Buffer.from(piece as Uint8Array));
    return null;
  };
  const end = () => answered({ status, body: Buffer.concat(pieces).toString() });
  return {
    method,
    path,
    query,
    header: (name) => headers[name] ?? '',
    eachHeader(take) {
      for (const [name, value] of Object.entries(headers)) take(name, value);
    },
    remoteAddress: () => '',
    onAborted: (told) => signal.addEventListener('abort', told),
    onData: (take) => void setImmediate(() => take(Buffer.from(body ?? ''), true)),
    pause() {},
    resume() {},
    send(head, whole) {
      ({ status } = head);
      write(whole);
      end();
    },
    sendHead(head) {
      ({ status } = head);
      end();
    },
    begin(head) {
      ({ status } = head);
    },
    write,
    end,
    close() {
      status = 500;
      end();
    },
  };
}
