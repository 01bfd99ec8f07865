import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from './folders.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and fail where one is missing
export type Json = any;

/** A response: its status, and its body, parsed if it is JSON. */
export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly headers: Headers;
}

/** Sends requests to a service. */
export interface Client {
  readonly url: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  upload(filename: string, content: string | Uint8Array): Promise<Answer>;
}

export function clientOf(url: string): Client {
  return {
    url,
    async call(method, path, body) {
      return answerOf(
        await fetch(url + path, {
          method,
          // A new connection, because the server may close a kept-alive one just as it is reused.
          headers: {
            connection: 'close',
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        }),
      );
    },
    async upload(filename, content) {
      const form = new FormData();
      form.append('file', new Blob([content as BlobPart]), filename);
      return answerOf(
        await fetch(`${url}/api/upload_dataset`, {
          method: 'POST',
          body: form,
          headers: { connection: 'close' },
        }),
      );
    },
  };
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** Rows of the example dataset for text generation. */
export const supportRows = () => readFileSync(join(root, 'examples', 'support.jsonl'), 'utf8');

/** The longest pause between two checks of a condition. */
const longestPauseMs = 250;

/**
 * Waits until `check` returns a truthy value; on timeout fails with the last value. The pauses between the checks
 * become longer, because requests every few milliseconds take CPU time from what is waited for.
 */
export async function until<T>(check: () => Promise<T> | T, what: string, timeoutMs = 120_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let pauseMs = 20;
  let last: T;
  do {
    last = await check();
    if (last) return last;
    await sleep(pauseMs);
    pauseMs = Math.min(pauseMs * 1.5, longestPauseMs);
  } while (performance.now() < deadline);
  throw new Error(`Waited in vain until ${what}; the last answer was ${JSON.stringify(last)}`);
}
