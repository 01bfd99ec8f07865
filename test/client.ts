import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
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

/**
 * Sends a request on a connection of its own, since a server may close a kept-alive one just as it is reused. Not with
 * `fetch`: that fails when the connection ends before its reader has taken the last 64 KiB.
 */
export async function ask(url: string, method = 'GET', headers: Record<string, string> = {}, body = '') {
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = request(url, { method, headers: { ...headers, ...length }, agent: false });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  // One that comes later fails the reading of the body.
  sent.on('error', () => undefined);
  sent.end(body);
  const [message] = await answered;
  const received = new Headers(message.headers as Record<string, string>);
  return { status: message.statusCode as number, headers: received, bytes: await buffer(message) };
}

export function clientOf(url: string): Client {
  return {
    url,
    async call(method, path, body) {
      const sent = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      const { status, headers, bytes } = await ask(url + path, method, type, sent);
      return answerOf(status, headers, bytes.toString());
    },
    async upload(filename, content) {
      const form = new FormData();
      form.append('file', new Blob([content as BlobPart]), filename);
      const headers = { connection: 'close' };
      const answer = await fetch(`${url}/api/upload_dataset`, { method: 'POST', body: form, headers });
      return answerOf(answer.status, answer.headers, await answer.text());
    },
  };
}

function answerOf(status: number, headers: Headers, text: string): Answer {
  const isJson = headers.get('content-type')?.startsWith('application/json');
  return { status, body: isJson ? JSON.parse(text) : text, headers };
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
