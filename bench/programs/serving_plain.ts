/**
 * node-llama-cpp's own batching as documented, with the engine's thread count:  serving_plain.ts GGUF TOKENS THREADS
 * Continues the `prompts` from stdin, each in its own sequence of one context, and prints `rate`, the tokens per second
 * of all.
 */
import { text } from 'node:stream/consumers';
import { getLlama } from 'node-llama-cpp';

const [modelPath, tokens, threads] = process.argv.slice(2) as [string, string, string];
const { prompts }: { prompts: string[] } = JSON.parse(await text(process.stdin));
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: Number(threads) });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 1024, sequences: prompts.length });
const sequences = prompts.map(() => context.getSequence());

async function answer(index: number, prompt: string): Promise<number> {
  const sequence = sequences[index];
  if (sequence === undefined) throw new Error('No sequence.');
  let made = 0;
  for await (const _ of sequence.evaluate(model.tokenize(prompt, true), { temperature: 0 })) {
    made += 1;
    if (made === Number(tokens)) break;
  }
  return made;
}
const answerAll = (asked: readonly string[]) =>
  Promise.all(asked.map((prompt, index) => answer(index, prompt)));
await answerAll(prompts.map(() => 'Hello'));
await Promise.all(sequences.map((sequence) => sequence.clearHistory()));
const began = performance.now();
const made = await answerAll(prompts);
const seconds = (performance.now() - began) / 1000;
process.stdout.write(JSON.stringify({ rate: made.reduce((sum, count) => sum + count, 0) / seconds }));
process.exit(0);
