/**
 * The engine with answers that copy from their prompts:  lookup.ts GGUF TEMPLATE TOKENS guesses|none
 * Reads prompts from stdin and answers one after the other. Prints `rate`, the tokens per second after the first token of
 * each answer, `texts`, and `guessed`, the share of tokens that were guessed.
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
    ...{ maxTokens, temperature: 0, topP: 1, lookup: way === 'guesses' },
  });
const prompts: string[] = JSON.parse(await text(process.stdin));
await ask('-', 4); // loads the model
const said: Awaited<ReturnType<typeof ask>>[] = [];
for (const prompt of prompts) said.push(await ask(prompt, Number(tokens)));
const sum = (of: (one: (typeof said)[number]) => number) => said.reduce((total, one) => total + of(one), 0);
const seconds = sum((one) => one.durationMs - one.timeToFirstTokenMs) / 1000;
const rate = sum((one) => one.generatedTokens - 1) / seconds;
const guessed = sum((one) => one.lookedUpTokens ?? 0) / sum((one) => one.generatedTokens);
process.stdout.write(JSON.stringify({ rate, guessed, texts: said.map((one) => one.text) }));
await engine.close();
