import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A message as it came. */
export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly path: string | undefined;
}

/** A receiver of webhooks on this machine. */
export interface WebhookReceiver {
  readonly url: string;
  readonly received: Received[];
  /** What it does with the next requests; afterwards it answers 200. */
  readonly answers: ((response: ServerResponse) => void)[];
  /** Waits until so many requests have come. */
  comes(count: number): Promise<void>;
  close(): void;
}

/** Answers with a status. */
export const status =
  (code: number, headers = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(code, headers).end('read by nobody');

/** Never answers. */
export const hangs = (): void => undefined;

/** The signature that a message must have, by the specification of Standard Webhooks. */
export const signatureOf = ({ headers, body }: Received, key: Buffer): string =>
  `v1,${createHmac('sha256', key)
    .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
    .digest('base64')}`;

/** @param path of its address. */
export async function startReceiver(path: string): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const answers: WebhookReceiver['answers'] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      received.push({ headers: request.headers, body, path: request.url });
      (answers.shift() ?? status(200))(response);
      for (const wake of waiting.splice(0)) wake();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    ...{ received, answers },
    async comes(count) {
      while (received.length < count) await new Promise<void>((wake) => waiting.push(wake));
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
