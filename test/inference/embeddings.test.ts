/** Vectors of texts from a model's own hidden states. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AppError } from '../../src/errors.ts';
import { writeTinyGguf } from '../native/tiny-gguf.ts';
import { ownEngine } from './own-engine.ts';

const { folder, templatePath, engine, end } = ownEngine();
const ggufPath = join(folder, 'model.gguf');
const model = { modelKey: 'model', ggufPath, templatePath };
const embed = (...inputs: (string | number[])[]) => engine.embed({ ...model, inputs });
const product = (one: number[], other: number[]) =>
  one.reduce((sum, value, index) => sum + value * (other[index] as number), 0);

test.before(() => {
  writeTinyGguf(ggufPath, { context: 2048 });
});
test.after(end);

test('a text has one vector of length 1, alone, among others and beside an answer', async () => {
  const answer = engine.generate({
    ...{ ...model, input: { kind: 'text', text: 'Beside' }, maxTokens: 40, temperature: 0, topP: 1 },
  });
  const { embeddings, promptTokens } = await embed('A parcel', 'Another one', 'A parcel');
  const [first, other, again] = embeddings as [number[], number[], number[]];
  assert.is(first.length, 256, 'the width of the model');
  for (const vector of embeddings) assert.ok(Math.abs(product(vector, vector) - 1) < 1e-6);
  assert.ok(product(first, again) > 0.999999);
  assert.ok(product(first, other) < 0.999);
  const [one, two] = [await embed('A parcel'), await embed('Another one')];
  assert.ok(product(first, one.embeddings[0] as number[]) > 0.999999);
  assert.is(promptTokens, 2 * one.promptTokens + two.promptTokens);
  assert.is((await answer).generatedTokens, 40);
});

test('tokens are as good as their text, and a long text as a short one', async () => {
  const bytes = [...Buffer.from(' ab')].map((byte) => byte + 3);
  const [of, long] = (await embed(bytes, 'word '.repeat(100))).embeddings as [number[], number[]];
  assert.is(of.length, 256);
  assert.ok(Math.abs(product(long, long) - 1) < 1e-6);
  assert.ok(product(long, of) < 0.999);
});

test('what cannot be embedded is refused with its index', async () => {
  const refused = async (input: string | number[], message: RegExp) => {
    const error = await embed('fine', input).then(
      () => new Error('It was not refused.'),
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof AppError)) throw error;
    assert.is(error.kind, 'invalid');
    assert.is(error.details.index, 1);
    assert.match(error.message, message);
  };
  await refused('word '.repeat(2000), /Input 1 has \d+ tokens, but the model's context holds 2048/);
  await refused([], /Input 1 is empty/);
  await refused([70_000], /Input 1 has the token 70000/);
});

test.run();
