/**
 * node-llama-cpp as documented, with its default thread count:  playground_plain.ts GGUF TOKENS MOST_MS.
 * Continues the prompt from stdin, for at most that long, and prints the text and the tokens per second.
 */
import { text } from 'node:stream/consumers';
import { getLlama } from 'node-llama-cpp';

const [modelPath, tokens, mostMs] = process.argv.slice(2) as [string, string, string];
const llama = await getLlama({ gpu: false, build: 'never' });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 4096 });
const sequence = context.getSequence();
const made: number[] = [];
let begun = 0;
for await (const token of sequence.evaluate(model.tokenize(await text(process.stdin), true), {
  temperature: 0,
})) {
  made.push(token);
  if (made.length === 1) begun = performance.now();
  if (made.length === Number(tokens) || performance.now() - begun > Number(mostMs)) break;
}
const rate = ((made.length - 1) / (performance.now() - begun)) * 1000;
process.stdout.write(JSON.stringify({ rate, tokens: made, text: model.detokenize(made as never) }));
process.exit(0);
