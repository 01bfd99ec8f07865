/** Our own estimate of memory against what trainings really take, at their peak. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  root,
  startService,
  type TestService,
  temporaryFolder,
  tinyModel,
  trainersOf,
  untilEnded,
} from '../service.ts';

/** How far the estimate may lie from the peak, either way. */
const factor = 1.5;
/** The same for what a larger step adds to a smaller one, where the libraries' own memory does not help. */
const growthFactor = 2;

let service: TestService;
const model = temporaryFolder();
const manyTokens = temporaryFolder();

test.before(async () => {
  const python = join(root, 'trainer', '.venv', 'bin', 'python');
  for (const args of [[model], [manyTokens, '32000']]) {
    execFileSync(python, [join(root, 'test', 'api', 'small_model.py'), ...args], {
      cwd: root,
      env: { ...process.env, PYTHONPATH: root, OMP_NUM_THREADS: '1' },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  service = await startService();
  const words = ['parcel', 'invoice', 'shipping', 'box', 'order', 'password', 'account', 'card'];
  const rows = Array.from({ length: 40 }, (_, row) => {
    const said = Array.from({ length: 800 }, (_, place) => words[(row * 31 + place * 7) % words.length]);
    return JSON.stringify({ input: 'Say it.', output: said.join(' ') });
  });
  await service.upload('long.jsonl', rows.join('\n'));
});
test.after(endAll);

/** The most that a process has held so far, in bytes. */
function peakOf(pid: number): number {
  const status = `/proc/${pid}/status`;
  if (existsSync(status)) {
    const kibibytes = /VmHWM:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1];
    return Number(kibibytes ?? 0) * 1024;
  }
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) * 1024;
}

/** Estimates a training, then runs it. */
async function measure(changes: object): Promise<{ estimated: number; peak: number }> {
  const request = quickRequest({ dataset: 'long.jsonl', max_steps: 2, export: 'none', ...changes });
  const { body } = await service.call('POST', '/api/estimate', request);
  assert.is((await service.call('POST', '/api/start_training', request)).status, 200);
  let peak = 0;
  const watch = setInterval(() => {
    for (const pid of trainersOf(service.dataDir)) {
      try {
        peak = Math.max(peak, peakOf(pid));
      } catch {
        // It has just ended.
      }
    }
  }, 200);
  const ended = await untilEnded(service).finally(() => clearInterval(watch));
  assert.is(ended.status, 'completed', JSON.stringify(ended));
  console.log(
    `    estimated ${Math.round(body.memory.total_bytes / 1e6)} MB, took ${Math.round(peak / 1e6)} MB`,
  );
  return { estimated: body.memory.total_bytes, peak };
}

const within = (estimated: number, real: number, bound: number) =>
  assert.ok(
    estimated < real * bound && estimated > real / bound,
    `${Math.round(estimated / 1e6)} MB were estimated, and it took ${Math.round(real / 1e6)} MB`,
  );

test(`the estimate is within ${factor} times the peak, from a tiny step to a large one`, async () => {
  const tiny = await measure({ model_name: tinyModel('llama'), max_seq_length: 128 });
  const short = await measure({ model_name: model, per_device_train_batch_size: 1, max_seq_length: 64 });
  const long = await measure({ model_name: model, per_device_train_batch_size: 8, max_seq_length: 512 });
  const many = await measure({ model_name: manyTokens, per_device_train_batch_size: 8, max_seq_length: 512 });
  const full = await measure({
    model_name: model,
    per_device_train_batch_size: 8,
    max_seq_length: 512,
    bf16: false,
  });
  for (const { estimated, peak } of [tiny, short, long, many, full]) within(estimated, peak, factor);
  within(long.estimated - short.estimated, long.peak - short.peak, growthFactor);
});

test.run();
