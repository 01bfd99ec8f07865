/**
 * What the tests of the specification's tables share: a service with a loopback hub, and checks of answers. Every answer
 * is also held against its schema in the service's OpenAPI document.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoopbackHub, startLoopbackHub } from '../hub/loopback.ts';
import {
  type Answer,
  endAll,
  type Json,
  startService,
  type TestService,
  temporaryFolder,
  tinyModel,
} from '../service.ts';
import { type Description, readDescription } from './description.ts';

export let service: TestService;
export let hub: LoopbackHub;
export let description: Description;

/** Starts the service (`warm` for a file that trains) and the hub before the file's tests, and ends them after. */
export function useService(options: { warm?: boolean } = {}): void {
  test.before(async () => {
    hub = await startLoopbackHub();
    hub.accounts.set('hf_writer', { name: 'tester', role: 'write' });
    hub.addModel('acme/tiny', tinyModel('llama'), { downloads: 1234, likes: 56 });
    hub.addModel('acme/secret', tinyModel('llama'), { isPrivate: true });
    hub.addModel('acme/gated', tinyModel('llama'), { gated: 'manual' });
    service = await startService({
      ...options,
      env: {
        HF_ENDPOINT: hub.url,
        HUB_TOKEN: 'hf_writer',
        HF_HOME: temporaryFolder(),
        HF_HUB_OFFLINE: '0',
      },
    });
    description = await readDescription(service);
  });
  test.after(async () => {
    await endAll();
    await hub.close();
  });
}

export const tasks = ['text-generation', 'summarization', 'extractive-question-answering'];
export const trainingStatus = {
  status: 'string',
  progress: 'number',
  message: 'string',
  error: 'string or null',
};
export const flatStatus = {
  status: 'string',
  progress: 'number',
  current_epoch: 'integer or null',
  total_epochs: 'integer or null',
  current_step: 'integer or null',
  total_steps: 'integer or null',
  loss: 'number or null',
  learning_rate: 'number or null',
  message: 'string',
  error: 'string or null',
};

const types: Record<string, (value: Json) => boolean> = {
  string: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'string[]': (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  array: (value) => Array.isArray(value),
  null: (value) => value === null,
  // ISO 8601 in UTC
  time: (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value),
};

/** Exactly the fields of `shape`, each of its type ("a or b" for either), and any of those in `also`. */
export function hasFields(body: Json, shape: Record<string, string>, also: readonly string[] = []): void {
  assert.ok(types.object?.(body), `an object, not ${JSON.stringify(body)}`);
  const names = Object.keys(body).filter((name) => !also.includes(name));
  assert.equal(names.sort(), Object.keys(shape).sort());
  for (const [name, type] of Object.entries(shape)) {
    assert.ok(
      type.split(' or ').some((one) => types[one]?.(body[name])),
      `${name} is ${type}, not ${JSON.stringify(body[name])}`,
    );
  }
}

/** A request whose answer must be as the OpenAPI document says. */
export async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const answer = await service.call(method, path, body);
  description.check(method, path.split('?')[0] as string, answer);
  return answer;
}

/** As `ask`, for an answer that must be 200; its body. */
export async function get(method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await ask(method, path, body);
  assert.is(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** `{detail}` alone, a text that has `words`. */
export function isDetail(answer: Answer, status: number, ...words: (string | RegExp)[]): void {
  assert.is(answer.status, status, JSON.stringify(answer.body));
  hasFields(answer.body, { detail: 'string' });
  for (const word of words) assert.match(answer.body.detail, word);
}

/** `{detail: [{loc, msg, type}]}`, its first issue at `loc` with `words`. */
export function isIssue(answer: Answer, loc: readonly string[], ...words: (string | RegExp)[]): void {
  assert.is(answer.status, 400, JSON.stringify(answer.body));
  hasFields(answer.body, { detail: 'array' });
  for (const issue of answer.body.detail)
    hasFields(issue, { loc: 'string[]', msg: 'string', type: 'string' });
  const [first] = answer.body.detail;
  assert.equal(first.loc, loc);
  for (const word of words) assert.match(first.msg, word);
}

/** `{error, detail, status_code}`, its detail with `words`. */
export function isFlatError(answer: Answer, status: number, ...words: (string | RegExp)[]): void {
  assert.is(answer.status, status, JSON.stringify(answer.body));
  hasFields(answer.body, { error: 'string', detail: 'string', status_code: 'integer' });
  assert.is(answer.body.status_code, status);
  for (const word of words) assert.match(answer.body.detail, word);
}
