/** How answers are sampled: log-probabilities, biases, penalties and grammars. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import type { GenerateRequest, GenerateResult, TokenChoice } from '../../src/inference/engine/engine.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';
import { ownEngine } from './own-engine.ts';

const { folder, templatePath, engine, end } = ownEngine();
const ggufPath = join(folder, 'model.gguf');

const ask = (changes: Partial<GenerateRequest> = {}) =>
  engine.generate({
    ...{ modelKey: 'model', ggufPath, templatePath, input: { kind: 'text', text: 'Question a of many|' } },
    ...{ maxTokens: 24, temperature: 0, topP: 1, ...changes },
  });
const tokensOf = (result: GenerateResult) => result.tokens as TokenChoice[];

async function refused(changes: Partial<GenerateRequest>): Promise<string> {
  const error = await ask(changes).then(
    () => new Error('It was not refused.'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AppError)) throw error;
  assert.is(error.kind, 'invalid');
  return error.message;
}

test.before(() => {
  writeTinyGguf(ggufPath, { context: 512 });
});
test.after(end);

test('log-probabilities tell the tokens of the answer, and change nothing', async () => {
  const plain = await ask();
  const heard: TokenChoice[] = [];
  const rated = await engine.generate(
    {
      ...{ modelKey: 'model', ggufPath, templatePath, input: { kind: 'text', text: 'Question a of many|' } },
      ...{ maxTokens: 24, temperature: 0, topP: 1, logprobs: 3 },
    },
    { onText: (_, tokens) => heard.push(...tokens) },
  );
  assert.is(rated.text, plain.text);
  assert.is(plain.tokens, undefined);
  assert.equal(heard, rated.tokens);
  assert.is(tokensOf(rated).length, rated.generatedTokens);
  const bytes = Buffer.from(tokensOf(rated).flatMap((choice) => choice.bytes));
  assert.ok(new TextDecoder().decode(bytes).startsWith(rated.text));
  for (const { token, logprob, top } of tokensOf(rated)) {
    assert.is(top.length, 3);
    assert.is(top[0]?.token, token, 'greedy takes the most likely one');
    assert.is(top[0]?.logprob, logprob);
    assert.ok(top.every((one, index) => one.logprob <= (top[index - 1]?.logprob ?? 0)));
    assert.ok(top.reduce((sum, one) => sum + Math.exp(one.logprob), 0) <= 1.0001);
  }
});

test('log-probabilities are those at temperature 1, whatever the temperature', async () => {
  const first = async (changes: Partial<GenerateRequest>) =>
    tokensOf(await ask({ maxTokens: 1, logprobs: 5, seed: 1, ...changes }))[0]?.top ?? [];
  const greedy = await first({});
  assert.is(greedy.length, 5);
  for (const temperature of [0.5, 1, 1.7]) {
    for (const [index, { token, logprob }] of (await first({ temperature })).entries()) {
      assert.is(token, greedy[index]?.token);
      assert.ok(Math.abs(logprob - (greedy[index]?.logprob ?? 0)) < 1e-3, `temperature ${temperature}`);
    }
  }
});

test('a bias bans a token or makes it the only one', async () => {
  const [usual] = tokensOf(await ask({ logprobs: 1 }));
  const token = usual?.token as number;
  const banned = tokensOf(await ask({ logprobs: 0, logitBias: { [token]: -100 } }));
  assert.not.ok(banned.some((choice) => choice.token === token));
  const only = tokensOf(await ask({ logprobs: 0, logitBias: { 100: 100 } }));
  assert.equal([...new Set(only.map((choice) => choice.token))], [100]);
  assert.match(await refused({ logitBias: { 5000: 1 } }), 'has no token 5000');
  assert.match(await refused({ logitBias: { 2: -100 } }), 'Token 2 ends an answer');
});

test('penalties make repeated tokens less likely', async () => {
  const plain = tokensOf(await ask({ logprobs: 0 })).map(({ token }) => token);
  const distinct = (tokens: number[]) => new Set(tokens).size;
  for (const penalty of [{ presencePenalty: 2 }, { frequencyPenalty: 2 }]) {
    const changed = tokensOf(await ask({ logprobs: 0, ...penalty })).map(({ token }) => token);
    assert.ok(distinct(changed) > distinct(plain), `${distinct(changed)} of ${distinct(plain)}`);
  }
});

test('an answer by a schema is valid, beside others with and without one', async () => {
  const schema = {
    type: 'object',
    properties: {
      team: { enum: ['billing', 'shipping'] },
      urgent: { type: 'boolean' },
      steps: { type: 'array', items: { anyOf: [{ const: 'call' }, { type: 'null' }] }, maxItems: 2 },
    },
    required: ['team', 'urgent', 'steps'],
  };
  const plain = await ask();
  const answers = [0, 1, 2, 3].map((seed) =>
    ask({ schema, maxTokens: 300, temperature: seed / 2, seed, ...(seed === 2 ? { logprobs: 2 } : {}) }),
  );
  const beside = ask();
  for (const { text, finishReason } of await Promise.all(answers)) {
    assert.is(finishReason, 'stop');
    const { team, urgent, steps, ...more } = JSON.parse(text);
    assert.ok(['billing', 'shipping'].includes(team), text);
    assert.type(urgent, 'boolean');
    assert.ok(steps.length <= 2 && steps.every((step: unknown) => step === 'call' || step === null), text);
    assert.equal(more, {});
  }
  assert.is((await beside).text, plain.text);
  assert.match((await ask({ schema: { type: 'object' } })).text, /^\{/);
});

test('a schema that cannot be expressed is refused with its place', async () => {
  const schema = { type: 'object', properties: { name: { type: 'string', pattern: '^(?=a)' } } };
  assert.match(
    await refused({ schema }),
    'at "/properties/name/pattern": cannot be used: (?=a) has no grammar',
  );
});

test('top_k of one and min_p of one leave the likeliest token alone', async () => {
  const greedy = await ask();
  const hot = { temperature: 2, seed: 7 };
  assert.is.not((await ask(hot)).text, greedy.text);
  assert.is((await ask({ ...hot, topK: 1 })).text, greedy.text);
  assert.is((await ask({ ...hot, minP: 1 })).text, greedy.text);
  assert.is((await ask({ ...hot, topK: -1 })).text, (await ask(hot)).text);
});

test('a repetition penalty counts the prompt and the answer, and stands alone', async () => {
  const answer = tokensOf(await ask({ logprobs: 0 })).map(({ token }) => token);
  const penalized = tokensOf(await ask({ logprobs: 0, repetitionPenalty: 10 })).map(({ token }) => token);
  assert.ok(new Set(answer).size < answer.length);
  assert.is(new Set(penalized).size, penalized.length);
  // A prompt whose likeliest next token is in it, and in no answer yet.
  let text = 'Question a of many|';
  const next = async (changes: Partial<GenerateRequest>) =>
    tokensOf(await ask({ logprobs: 0, maxTokens: 1, input: { kind: 'text', text }, ...changes }))[0];
  for (let tries = 0; tries < 50; tries += 1) {
    const likeliest = await next({});
    if (text.includes(likeliest?.text ?? '')) break;
    text += likeliest?.text;
  }
  assert.is.not((await next({ repetitionPenalty: 10 }))?.token, (await next({}))?.token);
  assert.match(await refused({ repetitionPenalty: 1.2, presencePenalty: 1 }), /cannot be combined/);
});

/** The tokens of a prompt. */
async function idsOf(input: GenerateRequest['input'], model: Partial<GenerateRequest> = {}) {
  const rated = await ask({ ...model, input, echo: true, logprobs: 0, maxTokens: 0 });
  return tokensOf(rated).map(({ token }) => token);
}

test('a prompt is repeated and rated as its tokens would be as an answer', async () => {
  const text = 'Question a of many|';
  const answered = await ask({ logprobs: 2, maxTokens: 100 });
  const ids = await idsOf({ kind: 'text', text });
  const answer = tokensOf(answered);
  const tokens = [...ids, ...answer.map(({ token }) => token)];
  const heard: TokenChoice[] = [];
  const rated = await engine.generate(
    {
      ...{ modelKey: 'model', ggufPath, templatePath, input: { kind: 'tokens', tokens } },
      ...{ maxTokens: 0, temperature: 0, topP: 1, logprobs: 2, echo: true },
    },
    { onText: (_, some) => heard.push(...some) },
  );
  const { promptTokens, generatedTokens, finishReason } = rated;
  assert.equal([promptTokens, generatedTokens, finishReason], [tokens.length, 0, 'length']);
  // The vocabulary has no token for a space.
  assert.is(rated.text.replaceAll('▁', ' ').trimStart().slice(0, text.length), text);
  assert.equal(heard, rated.tokens);
  assert.equal(
    tokensOf(rated).map(({ token }) => token),
    tokens,
  );
  const [first, ...others] = tokensOf(rated);
  assert.equal([first?.logprob, first?.top], [null, []]);
  for (const [index, { logprob, top }] of others.slice(ids.length - 1).entries()) {
    assert.is(top[0]?.token, answer[index]?.top[0]?.token, `token ${index}`);
    // Sums of a batch are added in another order.
    assert.ok(Math.abs((logprob ?? 0) - (answer[index]?.logprob ?? 0)) < 0.01, `token ${index}`);
  }
  // The answer that follows is rated, too, and the next request finds the prompt evaluated.
  const longer = await ask({ echo: true, logprobs: 2, maxTokens: 3 });
  assert.is(longer.text, text + answered.text.slice(0, longer.text.length - text.length));
  assert.equal(
    tokensOf(longer).map(({ token }) => token),
    tokens.slice(0, ids.length + 3),
  );
  assert.is((await ask({ maxTokens: 1 })).cachedTokens, ids.length - 1);
  const fresh = await ask({ cache: false, maxTokens: 1 });
  assert.equal([fresh.cachedTokens, fresh.text], [0, answered.text.slice(0, fresh.text.length)]);
  const nothing = await ask({ maxTokens: 0 });
  assert.equal([nothing.text, nothing.generatedTokens, nothing.finishReason], ['', 0, 'length']);
  assert.is((await ask({ maxTokens: 0, echo: true })).text, text);
  assert.match(await refused({ input: { kind: 'tokens', tokens: [1, 261] } }), /no token 261/);
});

test('a suffix stands in the prompt as infilling tokens have it', async () => {
  const infilled = join(folder, 'infill.gguf');
  writeTinyGguf(infilled, { context: 512, infill: [259, 260, 3] });
  const model = { modelKey: 'infill', ggufPath: infilled };
  const [bos, ...before] = await idsOf({ kind: 'text', text: 'a, ' });
  const [, ...after] = await idsOf({ kind: 'text', text: ' and c' });
  assert.equal(await idsOf({ kind: 'text', text: 'a, ', suffix: ' and c' }, model), [
    ...[bos, 259, ...before],
    ...[260, ...after],
    3,
  ]);
  assert.match(await refused({ input: { kind: 'text', text: 'a', suffix: 'c' } }), /no infilling tokens/);
});

test('ignore_eos goes on where the model ends its answer', async () => {
  const ended: number[] = [];
  for (let seed = 0; ended.length === 0 && seed < 200; seed += 1) {
    const { finishReason } = await ask({ seed, temperature: 8 });
    if (finishReason === 'stop') ended.push(seed);
  }
  const seed = ended[0];
  assert.ok(seed !== undefined, 'an answer ends by itself');
  const longer = await ask({ seed, temperature: 8, ignoreEos: true });
  assert.equal([longer.finishReason, longer.generatedTokens], ['length', 24]);
});

test('a control token never stands for its text in JSON', async () => {
  const schema = { enum: ['<s>', '<s><s>'] };
  // The tokenizer hides it, so the text would lack it.
  for (const logitBias of [{}, { 1: 100 }]) {
    const { text } = await ask({ schema, logitBias });
    assert.ok(['<s>', '<s><s>'].includes(JSON.parse(text)), text);
  }
});

test.run();
