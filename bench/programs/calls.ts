/**
 * Answers as text, of a schema with ten fields, and as a call of a tool, one after the other:  calls.ts GGUF TEMPLATE TIMES
 * Prints for each time the tokens per second of the text and of the schema, the milliseconds to the first part of the text and
 * of the call, and the milliseconds that the tokens of a call take and that it takes to read the call in them.
 */
import { join } from 'node:path';
import { answerFormOf, type OnAnswer, withParts } from '../../src/domain/playground/answer-parts.ts';
import { createToolSplit } from '../../src/domain/playground/calls/tool-split.ts';
import { createEngine } from '../../src/inference/engine/engine.ts';
import { threadPlacement } from '../../src/native/thread-placement.ts';
import { root } from '../harness/places.ts';

const [ggufPath, templatePath, times] = process.argv.slice(2) as [string, string, string];
const engine = createEngine({
  workerPath: join(root, 'dist', 'inference-worker.js'),
  preload: threadPlacement(),
  ...{ gpu: false, idleMs: 600_000, silenceMs: 600_000, stallMs: 600_000, maxLoaded: 1, maxPending: 64 },
  logger: { debug() {}, info() {}, warn() {} },
});
const text = (maxLength: number) => ({ type: 'string', maxLength });
const properties = {
  ...{ name: text(40), city: text(40), country: text(40), street: text(60), profession: text(40) },
  ...{ age: { type: 'integer' }, is_member: { type: 'boolean' }, email: { type: 'string', format: 'email' } },
  ...{ plan: { enum: ['free', 'plus', 'business'] }, notes: { type: 'array', items: text(60), maxItems: 3 } },
};
const schema = { type: 'object', properties, required: Object.keys(properties) };
const tools = [
  { name: 'create_customer', description: 'Stores a customer.', parameters: schema },
  { name: 'find_customer', description: 'Finds a customer by name.', parameters: { type: 'object' } },
].map((one) => ({ type: 'function' as const, function: one }));
const tokens = 120;
const parses = 100;
const question = (at: number) =>
  `Customer ${at}: Maria Garcia, 34 years old, is an architect and lives at 12 Oak Street in Lisbon, Portugal. Her address is maria@example.com. She has the plan plus and likes quiet rooms. Describe her as a JSON object with ${Object.keys(properties).join(', ')}.`;
const form = await answerFormOf(templatePath);
if (form.toolStyle === null) throw new Error('The template has no tools.');

/** An answer whose prompt is evaluated anew, without guesses. */
async function ask(at: number, choice: 'auto' | 'required' | null, held: object) {
  const use = choice === null ? undefined : { tools, choice, parallel: false, strict: [] };
  const messages = [{ role: 'user', content: question(at) }];
  const deltas: string[] = [];
  const began = performance.now();
  let first = Number.NaN;
  const onAnswer: OnAnswer = (content, _tokens, _reasoning, calls) => {
    if (Number.isNaN(first) && (content !== '' || calls.length > 0)) first = performance.now() - began;
  };
  const answer = await withParts(form, undefined, null, use ?? null, onAnswer, (onText) =>
    engine.generate(
      {
        ...{ modelKey: 'model', ggufPath, templatePath, temperature: 0, topP: 1, maxTokens: tokens },
        ...{ input: { kind: 'messages', messages, tools: use }, cache: false, lookup: false, ...held },
      },
      {
        onText(delta, given) {
          deltas.push(delta);
          onText?.(delta, given);
        },
      },
    ),
  );
  const decodingMs = answer.durationMs - answer.timeToFirstTokenMs;
  return { answer, first, deltas, decodingMs, rate: ((answer.generatedTokens - 1) / decodingMs) * 1000 };
}

const runs = [];
// The first loads the model.
for (let at = 0; at <= Number(times); at += 1) {
  const free = await ask(at, null, {});
  const held = await ask(at, null, { schema });
  // Whatever is asked first may find the engine's threads otherwise than what follows.
  const first = await ask(at, at % 2 === 0 ? 'auto' : 'required', {});
  const second = await ask(at, at % 2 === 0 ? 'required' : 'auto', {});
  const [said, called] = at % 2 === 0 ? [first, second] : [second, first];
  if (called.answer.calls.length !== 1) throw new Error(`No call: ${called.answer.text}`);
  const began = performance.now();
  for (let time = 0; time < parses; time += 1) {
    const split = createToolSplit(form.toolStyle, { tools, parallel: false, choice: 'required' });
    for (const delta of called.deltas) split.push(delta);
    split.end();
  }
  const readingMs = (performance.now() - began) / parses;
  if (at === 0) continue;
  runs.push({
    ...{ free: free.rate, held: held.rate, heldTokens: held.answer.generatedTokens },
    ...{ said: said.first, called: called.first, promptTokens: called.answer.promptTokens },
    ...{ readingMs, decodingMs: called.decodingMs },
  });
}
process.stdout.write(JSON.stringify(runs));
await engine.close();
