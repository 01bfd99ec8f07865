/** Sent with every response: no MIME sniffing, no framing, no caching unless overridden. */
const commonHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** All headers of a response whose own are these. */
export const withCommonHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> => ({
  ...commonHeaders,
  ...headers,
});

/** A response, complete. Bodies are bytes or text; streams go through `Exchange.stream`. */
export class Reply {
  readonly status: number;
  readonly body: string | Uint8Array;
  /** All of them, with those that every response has. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: string | Uint8Array, headers: Record<string, string>) {
    this.status = status;
    this.body = body;
    this.headers = withCommonHeaders(headers);
  }

  /** Whether its type is worth compressing. */
  get isJson(): boolean {
    return this.headers['content-type'] === 'application/json';
  }

  /** `JSON.stringify` writes NaN and infinity as `null`, as the API specifies. */
  static json(status: number, value: unknown, headers: Record<string, string> = {}): Reply {
    return new Reply(status, JSON.stringify(value), { 'content-type': 'application/json', ...headers });
  }

  static text(status: number, text: string, contentType = 'text/plain; charset=utf-8'): Reply {
    return new Reply(status, text, { 'content-type': contentType });
  }
}
