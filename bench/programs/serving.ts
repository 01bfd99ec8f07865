/**
 * The engine with several requests:  serving.ts GGUF TEMPLATE TOKENS together|apart
 * Reads `{prompts, long, short}` from stdin. Answers the prompts together or one after the other, and asks `short` right
 * after `long` or once that is answered. Prints `rate`, the tokens per second of all prompts, `texts`, and `first`, the
 * milliseconds from the long question to the first token of the short one.
 */
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createEngine } from '../../src/inference/engine/engine.ts';
import { threadPlacement } from '../../src/native/thread-placement.ts';
import { root } from '../harness/places.ts';

const [ggufPath, templatePath, tokens, way] = process.argv.slice(2) as [string, string, string, string];
const engine = createEngine({
  workerPath: join(root, 'dist', 'inference-worker.js'),
  preload: threadPlacement(),
  ...{ gpu: false, idleMs: 600_000, silenceMs: 600_000, stallMs: 600_000, maxLoaded: 1, maxPending: 64 },
  logger: { debug() {}, info() {}, warn() {} },
});
const ask = (prompt: string, maxTokens: number) =>
  engine.generate({
    ...{ modelKey: 'model', ggufPath, templatePath, input: { kind: 'text', text: prompt } as const },
    ...{ maxTokens, temperature: 0, topP: 1 },
  });
const asked: { prompts: string[]; long: string; short: string } = JSON.parse(await text(process.stdin));
const isTogether = way === 'together';

async function askAll(prompts: readonly string[], maxTokens: number) {
  if (isTogether) return Promise.all(prompts.map((prompt) => ask(prompt, maxTokens)));
  const said = [];
  for (const prompt of prompts) said.push(await ask(prompt, maxTokens));
  return said;
}
// Loads the model and makes the context.
await askAll(
  asked.prompts.map(() => 'Hello'),
  Number(tokens),
);
const began = performance.now();
const said = await askAll(asked.prompts, Number(tokens));
const seconds = (performance.now() - began) / 1000;
const generated = said.reduce((sum, { generatedTokens }) => sum + generatedTokens, 0);

const beganLong = performance.now();
const long = ask(asked.long, 1);
if (!isTogether) await long;
await ask(asked.short, 1);
const first = performance.now() - beganLong;
const { promptTokens } = await long;
const texts = said.map((one) => one.text);
process.stdout.write(JSON.stringify({ rate: generated / seconds, texts, first, promptTokens }));
await engine.close();
