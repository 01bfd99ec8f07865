/** Requests to one model run together: what they wait for, what they share and what they do not change. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import type { Engine, GenerateRequest, GenerateResult } from '../../src/inference/engine/engine.ts';
import { childrenOf } from '../children.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';
import { ownEngine, patientEngine } from './own-engine.ts';

const { folder, templatePath, engine, end } = ownEngine(
  { maxLoaded: 2 },
  "{% for message in messages %}{{ message['content'] }}|{% endfor %}",
);
/** Its contexts hold eight requests. */
const narrow = join(folder, 'narrow.gguf');
/** A request alone has a context of its own. */
const wide = join(folder, 'wide.gguf');
/** Its likely tokens are clear, so that few draws depend on the last bits of sums. */
const clear = join(folder, 'clear.gguf');

type Turn = { role: string; content: string };
const user = (content: string): Turn => ({ role: 'user', content });
const ask = (messages: Turn[], changes: Partial<GenerateRequest> = {}): GenerateRequest => ({
  ...{ modelKey: 'narrow', ggufPath: narrow, templatePath, input: { kind: 'messages', messages } },
  ...{ maxTokens: 24, temperature: 0, topP: 1, ...changes },
});
const eight = Array.from({ length: 8 }, (_, index) => `Question ${'abcdefgh'[index]} of many`);
const endless = { maxTokens: 4000, modelKey: 'wide', ggufPath: wide } as const;

/** Starts an answer, and waits until it has begun. */
function begun(request: GenerateRequest, signal?: AbortSignal) {
  return new Promise<{ answer: ReturnType<Engine['generate']> }>((resolve, reject) => {
    const onText = () => resolve({ answer });
    const answer = engine.generate(request, { onText, ...(signal ? { signal } : {}) });
    answer.then(onText, reject);
  });
}

async function failure(promise: Promise<unknown>): Promise<AppError> {
  const error = await promise.then(
    () => new Error('It did not fail.'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof AppError) return error;
  throw error;
}

test.before(() => {
  writeTinyGguf(narrow, { context: 1024 });
  writeTinyGguf(clear, { context: 1024, next: (token) => (token * 7 + 5) % 261 });
  writeTinyGguf(wide, { context: 8192 });
});
test.after(end);

test('greedy answers and equal seeds are those of each request alone', async () => {
  const asked = eight.flatMap((text, seed) => [
    ask([user(text)], { logprobs: 0 }),
    ask([user(text)], { modelKey: 'clear', ggufPath: clear, temperature: 1, topP: 0.98, seed }),
  ]);
  const alone: GenerateResult[] = [];
  for (const request of asked) alone.push(await engine.generate(request));
  await engine.unload('narrow');
  await engine.unload('clear');
  const together = await Promise.all(asked.map((request) => engine.generate(request)));
  assert.equal(
    together.map(({ text }) => text),
    alone.map(({ text }) => text),
  );
  assert.ok(new Set(alone.map(({ text }) => text)).size > 8, 'the answers differ');
  // Sums of a batch are added in another order, and keys and values are kept in 16 bits.
  const rated = (results: GenerateResult[]) =>
    results.flatMap(({ tokens = [] }) => tokens.map(({ logprob }) => logprob ?? 0));
  const others = rated(alone);
  assert.is(others.length, 8 * 24);
  for (const [index, logprob] of rated(together).entries())
    assert.ok(Math.abs(logprob - (others[index] as number)) < 0.01, `token ${index}`);
});

test('an answer joins others and leaves before them', async () => {
  const stopLong = new AbortController();
  const long = await begun(ask([user('A long one')], { ...endless, maxTokens: 8000 }), stopLong.signal);
  const short = await engine.generate(ask([user('A short one')], { ...endless, maxTokens: 3 }));
  assert.is(short.generatedTokens, 3);
  stopLong.abort();
  assert.is((await long.answer).finishReason, 'aborted', 'the long one still ran');
});

test('a long prompt does not keep a short one waiting', async () => {
  const order: string[] = [];
  const input = { kind: 'text' as const, text: 'A parcel has not come. '.repeat(60) };
  const long = engine
    .generate(ask([], { ...endless, input, maxTokens: 1 }))
    .then(({ promptTokens }) => order.push(`long ${promptTokens > 1900}`));
  const short = engine
    .generate(ask([user('short')], { ...endless, maxTokens: 1 }))
    .then(() => order.push('short'));
  await Promise.all([long, short]);
  assert.equal(order, ['short', 'long true']);
});

test('eight conversations keep their tokens beside each other', async () => {
  const first = await Promise.all(eight.map((text) => engine.generate(ask([user(text.repeat(4))]))));
  const turns = first.map(({ text, promptTokens }, index) => ({
    promptTokens,
    messages: [user((eight[index] as string).repeat(4)), { role: 'assistant', content: text }, user('And?')],
  }));
  const second = await Promise.all(turns.reverse().map(({ messages }) => engine.generate(ask(messages))));
  for (const [index, { cachedTokens }] of second.entries()) {
    const { promptTokens } = turns[index] as { promptTokens: number };
    assert.ok(cachedTokens >= promptTokens - 1, `${cachedTokens} of ${promptTokens} tokens were kept`);
  }
});

test('the beginning that prompts have in common is evaluated once', async () => {
  const passage = 'A parcel has not come. '.repeat(20);
  const asked = eight.map((text, seed) =>
    ask([user(passage), user(seed < 4 ? 'Where is it?' : text)], {
      ...{ modelKey: 'clear', ggufPath: clear, temperature: 1, topP: 0.98, seed },
    }),
  );
  await engine.unload('clear');
  const together = await Promise.all(asked.map((request) => engine.generate(request)));
  // One evaluates it, and of those that are equal, one evaluates the rest.
  assert.is(together.filter(({ cachedTokens }) => cachedTokens === 0).length, 1);
  assert.is(together.filter(({ cachedTokens }) => cachedTokens >= passage.length).length, 7);
  const whole = together.slice(0, 4).filter((one) => one.cachedTokens === one.promptTokens - 1);
  assert.is(whole.length, 3, 'all but the last token');
  for (const [index, request] of asked.entries())
    assert.is((await engine.generate(request)).text, together[index]?.text, `${index} is as alone`);
  await engine.unload('clear');
});

test('who waits for a prompt that is given up evaluates it', async () => {
  const input = { kind: 'text' as const, text: 'A parcel has not come. '.repeat(85) };
  const stop = new AbortController();
  const same = ask([], { ...endless, input, maxTokens: 2 });
  const first = engine.generate(same, { signal: stop.signal });
  const others = [engine.generate(same), engine.generate(same)];
  await engine.generate(ask([user('short')], { ...endless, maxTokens: 1 }));
  stop.abort();
  assert.is((await first).finishReason, 'aborted');
  const [one, other] = await Promise.all(others);
  assert.is(one?.generatedTokens, 2);
  assert.is(other?.text, one?.text);
});

test('an aborted request frees its place at once', async () => {
  const stops = eight.map(() => new AbortController());
  const running = await Promise.all(
    eight.map((text, index) => begun(ask([user(text)], endless), stops[index]?.signal)),
  );
  const next = engine.generate(ask([user('next')], { ...endless, maxTokens: 2 }));
  stops[3]?.abort();
  assert.is((await next).generatedTokens, 2);
  for (const stop of stops) stop.abort();
  for (const { answer } of running) assert.is((await answer).finishReason, 'aborted');
});

test('a caller with many requests does not keep another waiting', async () => {
  const order: string[] = [];
  const stops = eight.map(() => new AbortController());
  const many = { ...endless, caller: 'many' };
  const running = await Promise.all(
    eight.map((text, index) => begun(ask([user(text)], many), stops[index]?.signal)),
  );
  const waiting = [...['many', 'many', 'many', 'one'].entries()].map(([index, caller]) =>
    engine
      .generate(ask([user(`${index} waits`)], { ...endless, maxTokens: 1, caller }))
      .then(() => order.push(caller)),
  );
  stops[0]?.abort();
  await Promise.all(waiting);
  assert.is(order[0], 'one');
  for (const stop of stops) stop.abort();
  await Promise.all(running.map(({ answer }) => answer));
});

test('a model takes a bounded number of requests', async () => {
  const small = patientEngine({ maxPending: 3 });
  const asked = eight.map((text) => small.generate(ask([user(text)])));
  const results = await Promise.allSettled(asked);
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  assert.is(refused.length, 5);
  for (const error of refused as AppError[]) {
    assert.is(error.kind, 'too_many');
    assert.ok(Number(error.details.retryAfterSeconds) > 0);
  }
  assert.is((await small.generate(ask([user('after')]))).generatedTokens > 0, true);
  await small.close();
});

test('a process killed in the middle of eight answers fails each of them, and the next one works', async () => {
  await engine.unload('narrow');
  const running = await Promise.all(eight.map((text) => begun(ask([user(text)], endless))));
  const [child] = childrenOf(process.pid, 'inference-worker.js') as [number];
  process.kill(child, 'SIGKILL');
  for (const { answer } of running) {
    const error = await failure(answer);
    assert.is(error.kind, 'unavailable');
    assert.match(error.message, 'ended by signal SIGKILL. The next request starts a new one.');
  }
  assert.is((await engine.generate(ask([user('after')], { ...endless, maxTokens: 3 }))).generatedTokens, 3);
});

test.run();
