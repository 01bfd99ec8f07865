/**
 * The engine with several models of one base:  adapters.ts DIR shared|merged
 * `shared` asks ten models, each an adapter on the base's file, `merged` each of two merged files in turn, with one in
 * memory. Prints `one` and `ten`, the resident bytes of the process after the first and after ten models (`shared` alone),
 * `choose`, the milliseconds to the first token of another model than the last (median), and `text`.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { createEngine } from '../../src/inference/engine/engine.ts';
import { threadPlacement } from '../../src/native/thread-placement.ts';
import { root } from '../harness/places.ts';

const [dir, side] = process.argv.slice(2) as [string, 'shared' | 'merged'];
const count = 10;
const engine = createEngine({
  workerPath: join(root, 'dist', 'inference-worker.js'),
  preload: threadPlacement(),
  ...{ gpu: false, idleMs: 600_000, silenceMs: 600_000, stallMs: 600_000, maxLoaded: 1, maxPending: 64 },
  logger: { debug() {}, info() {}, warn() {} },
});
const text = 'The parcel of order 482 has not come.';
async function ask(number: number) {
  const isShared = side === 'shared';
  const path = join(dir, isShared ? 'base.gguf' : `merged-${number % 2}.gguf`);
  const began = performance.now();
  const said = await engine.generate({
    ...{ modelKey: path, ggufPath: path, templatePath: join(dir, 'template.json') },
    ...{ input: { kind: 'text', text } as const, maxTokens: 1, temperature: 0, topP: 1 },
    adapters: isShared ? [{ path: join(dir, `adapter-${number}.gguf`), scale: 1 }] : [],
  });
  return { text: said.text, ms: performance.now() - began };
}
/** Resident bytes of the engine's process. */
function memory(): number {
  const listed = execFileSync('ps', ['-A', '-o', 'ppid=,rss=,args='], { encoding: 'utf8' });
  const line = listed
    .split('\n')
    .find((one) => one.includes('inference-worker') && Number.parseInt(one, 10) === process.pid);
  return Number(line?.trim().split(/\s+/)[1]) * 1024;
}

const first = await ask(0);
const one = memory();
const times: number[] = [];
const asked = side === 'shared' ? count : 4;
for (let number = 1; number < asked; number += 1) times.push((await ask(number)).ms);
times.sort((a, b) => a - b);
const choose = times[Math.floor(times.length / 2)];
process.stdout.write(JSON.stringify({ one, ten: memory(), choose, text: first.text }));
await engine.close();
