/**
 * The playground's engine in its own process:  playground.ts GGUF TEMPLATE TOKENS [training]
 * Answers the conversations given as JSON on stdin, one after the other, and prints the results. On a GPU with
 * BENCH_DEVICE=cuda.
 */
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createEngine } from '../../src/inference/engine/engine.ts';
import { threadPlacement } from '../../src/native/thread-placement.ts';
import { root } from '../harness/places.ts';

const [ggufPath, templatePath, tokens, training] = process.argv.slice(2) as [string, string, string, string?];
const silent = { debug() {}, info() {}, warn() {} };
const workerPath = join(root, 'dist', 'inference-worker.js');
const engine = createEngine({
  workerPath,
  preload: threadPlacement(),
  gpu: process.env.BENCH_DEVICE === 'cuda' ? 'auto' : false,
  idleMs: 600_000,
  silenceMs: 600_000,
  stallMs: 600_000,
  maxLoaded: 1,
  maxPending: 64,
  logger: silent,
});
engine.setTrainingActive(training === 'training');
const ask = (messages: { role: string; content: string }[], maxTokens: number) =>
  engine.generate({
    ...{ modelKey: 'model', ggufPath, templatePath, input: { kind: 'messages', messages } as const },
    ...{ maxTokens, temperature: 0, topP: 1 },
  });
const said = [];
await ask([{ role: 'user', content: 'Hello' }], 4); // loads the model
for (const messages of JSON.parse(await text(process.stdin))) said.push(await ask(messages, Number(tokens)));
process.stdout.write(JSON.stringify(said));
await engine.close();
