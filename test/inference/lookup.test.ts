/** Tokens drafted from the prompt: where they are taken, and that they change nothing. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { GenerateRequest, GenerateResult } from '../../src/inference/engine/engine.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';
import { ownEngine } from './own-engine.ts';

const { folder, templatePath, engine, end } = ownEngine();
const ggufPath = join(folder, 'model.gguf');

/** The model goes through these letters again and again. */
const letters = 'QWERTYUIOPASDFGHJKLZXCVBNM1234567890cdefghijklmnopqrstuvwxyz';
const firstByte = 3;
function next(token: number): number {
  const at = letters.indexOf(String.fromCharCode(token - firstByte));
  if (token < firstByte || at < 0) return token;
  return firstByte + letters.charCodeAt((at + 1) % letters.length);
}
/** What it answers is in the prompt. */
const passage = `${letters}Q`;
const extraction = `${passage}-${passage}`;
/** No two letters follow each other as in its answers. */
const other = [...letters].reverse().join('');

type Changes = Partial<GenerateRequest>;
const ask = (text: string, changes: Changes = {}): GenerateRequest => ({
  ...{ modelKey: 'model', ggufPath, templatePath, input: { kind: 'text', text } },
  ...{ maxTokens: 50, temperature: 0, topP: 1, ...changes },
});
/** The answers to a request with and without drafts. */
async function both(text: string, changes: Changes = {}) {
  const plain = await engine.generate(ask(text, { ...changes, lookup: false }));
  assert.is(plain.lookedUpTokens, 0);
  return { plain, quick: await engine.generate(ask(text, changes)) };
}
function assertSame({ plain, quick }: { plain: GenerateResult; quick: GenerateResult }, about = ''): void {
  const told = ({ text, generatedTokens, finishReason }: GenerateResult) => ({
    text,
    generatedTokens,
    finishReason,
  });
  assert.equal(told(quick), told(plain), about);
}
const lookedUp = ({ lookedUpTokens = 0 }: GenerateResult) => lookedUpTokens;

test.before(() => {
  writeTinyGguf(ggufPath, { context: 512, next });
});
test.after(end);

test('an answer that copies takes fewer steps than it has tokens', async () => {
  const answers = await both(extraction);
  assertSame(answers);
  assert.is(answers.plain.text, (letters + letters).slice(1, 51));
  assert.ok(lookedUp(answers.quick) > 35, `${lookedUp(answers.quick)} of 50 tokens`);
});

test('free text is not drafted', async () => {
  const answers = await both(other, { maxTokens: 40 });
  assertSame(answers);
  assert.is(lookedUp(answers.quick), 0);
});

test('equal seeds draw the same tokens', async () => {
  let drafted = 0;
  const texts = new Set<string>();
  for (let seed = 1; seed <= 8; seed += 1) {
    const answers = await both(extraction, { temperature: 1, topP: 0.98, seed, maxTokens: 100 });
    assertSame(answers, `seed ${seed}`);
    drafted += lookedUp(answers.quick);
    texts.add(answers.plain.text);
  }
  assert.is(texts.size, 8);
  assert.ok(drafted > 40, `${drafted} tokens`);
});

test('streamed text and stop strings are the same', async () => {
  let streamed = '';
  const quick = await engine.generate(ask(extraction), { onText: (delta) => (streamed += delta) });
  assert.is(streamed, quick.text);
  const stop = [letters.slice(30, 33)];
  const stopped = await both(extraction, { stop });
  assertSame(stopped);
  assert.is(stopped.quick.text, letters.slice(1, 30));
  assert.is(stopped.quick.finishReason, 'stop');
  assert.ok(lookedUp(stopped.quick) > 10);
  // What was evaluated beyond the end does not remain.
  assertSame(await both(`${extraction}${letters.slice(1, 30)}?`));
});

test('log-probabilities, biases and penalties are the same', async () => {
  const answers = await both(extraction, { logprobs: 2 });
  assertSame(answers);
  assert.ok(lookedUp(answers.quick) > 35);
  const [plain = [], quick = []] = [answers.plain.tokens, answers.quick.tokens];
  assert.is(quick.length, 50);
  for (const [index, { token, logprob }] of quick.entries()) {
    assert.is(token, plain[index]?.token);
    // Sums of a batch are added in another order.
    assert.ok(Math.abs((logprob ?? 0) - (plain[index]?.logprob ?? 0)) < 0.01, `token ${index}`);
  }
  const bias = { [firstByte + letters.charCodeAt(20)]: -100 };
  for (const changes of [{ logitBias: bias }, { presencePenalty: 2, frequencyPenalty: 2, maxTokens: 150 }]) {
    const changed = await both(extraction, changes);
    assertSame(changed);
    assert.ok(lookedUp(changed.quick) > 0);
    assert.is.not(changed.plain.text, (letters + letters + letters).slice(1, changed.plain.text.length + 1));
  }
});

test('an answer that follows a grammar is not drafted', async () => {
  const schema = { type: 'object', properties: { QW: { type: 'string', maxLength: 9 } } };
  const answers = await both(extraction, { schema, maxTokens: 30 });
  assertSame(answers);
  assert.is(lookedUp(answers.quick), 0);
});

test('answers end at their limit, and at the end of the context', async () => {
  for (const maxTokens of [1, 2, 3, 17, 1000]) {
    const answers = await both(extraction, { maxTokens });
    assertSame(answers, `${maxTokens} tokens`);
    assert.is(answers.quick.generatedTokens, Math.min(maxTokens, 512 - answers.quick.promptTokens));
  }
});

test('requests together answer as alone, and draft where all of them copy', async () => {
  const starts = [5, 12, 19, 26].map((at) => `${extraction}-${letters.slice(0, at)}`);
  const sampled = { temperature: 1, topP: 0.98, seed: 3 };
  const asked = [...starts.map((text) => ask(text)), ask(extraction, sampled), ask(other, { maxTokens: 40 })];
  const alone: GenerateResult[] = [];
  for (const request of asked) alone.push(await engine.generate({ ...request, lookup: false }));
  const together = await Promise.all(asked.map((request) => engine.generate(request)));
  for (const [index, quick] of together.entries())
    assertSame({ plain: alone[index] as GenerateResult, quick }, `request ${index}`);
  const copying = await Promise.all(starts.map((text) => engine.generate(ask(text))));
  for (const [index, quick] of copying.entries()) {
    assertSame({ plain: alone[index] as GenerateResult, quick });
    assert.ok(lookedUp(quick) > 0, `request ${index}`);
  }
});

test.run();
