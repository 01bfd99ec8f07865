import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { quantizationTypes } from '../../src/contract/models/quantizations.ts';
import { quantize, quantizeErrorCode } from '../../src/native/quantize.ts';
import { preloading, shim } from './fake/build.ts';
import { writeTinyGguf } from './tiny-gguf.ts';

const folder = mkdtempSync(join(tmpdir(), 'hone-quantize-'));
const model = join(folder, 'model.gguf');
writeTinyGguf(model);
const program = join(import.meta.dirname, '..', '..', 'src', 'programs', 'quantize.ts');

test.after(() => rmSync(folder, { recursive: true, force: true }));

/** What lies beside the model: nothing may be left by a failure. */
const leftovers = () =>
  readdirSync(folder).filter((name) => name.endsWith('.partial') || name === 'out.gguf');

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (thrown) => thrown,
  );
  assert.ok(error instanceof Error, 'it fails');
  return quantizeErrorCode(error);
}

/** Runs the program; with `signal` it gets that at its first line of output. */
async function run(
  argv: string[],
  options: { env?: Record<string, string>; shell?: string; signal?: NodeJS.Signals } = {},
) {
  const command = [process.execPath, '--import', 'tsx', program, ...argv];
  const env = { ...process.env, ...options.env };
  const child = options.shell
    ? spawn('sh', ['-c', `${options.shell}; exec "$@"`, 'sh', ...command], { env })
    : spawn(command[0] as string, command.slice(1), { env });
  if (options.signal !== undefined) child.stdout.once('data', () => child.kill(options.signal));
  const [out, err, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null, string | null]>,
  ]);
  return { lines: out.trim().split('\n'), err: err.trim(), code, signal };
}

test('every type is written, each smaller than the one before, with rising progress', async () => {
  let larger = statSync(model).size;
  for (const type of quantizationTypes) {
    const out = join(folder, `${type}.gguf`);
    const progress: number[] = [];
    const result = await quantize(model, out, type, { onProgress: (share) => progress.push(share) });
    assert.is(result.bytes, statSync(out).size);
    assert.ok(result.bytes < larger, `${type} is smaller`);
    larger = result.bytes;
    assert.is(result.tensors, 21);
    assert.is(result.fallbackTensors, 0);
    assert.ok(
      progress.every((share, i) => share >= (progress[i - 1] ?? 0) && share <= 1),
      'progress rises',
    );
    assert.is(progress.at(-1), 1);
    assert.is(readFileSync(out).subarray(0, 4).toString(), 'GGUF');
  }
  assert.equal(leftovers(), []);
});

test('widths that a type does not fit are counted', async () => {
  const odd = join(folder, 'odd.gguf');
  writeTinyGguf(odd, { width: 288, feedForward: 320, layers: 1 });
  const result = await quantize(odd, join(folder, 'odd-q4.gguf'), 'Q4_K_M');
  assert.ok(result.fallbackTensors > 0);
});

test('an unknown type, a missing file, a file that is not a GGUF, and every truncation fail with their code', async () => {
  const out = join(folder, 'out.gguf');
  assert.is(await codeOf(quantize(model, out, 'Q9_X')), 'unsupported_type');
  assert.is(await codeOf(quantize(join(folder, 'nothing.gguf'), out, 'Q8_0')), 'not_found');
  const bad = join(folder, 'bad.gguf');
  writeFileSync(bad, '{"this": "is JSON"}');
  assert.is(await codeOf(quantize(bad, out, 'Q8_0')), 'bad_model');
  const whole = readFileSync(model);
  for (const bytes of [0, 3, 4, 20, 100, 1000, 5000, 100_000, whole.length - 1]) {
    writeFileSync(bad, whole.subarray(0, bytes));
    assert.is(await codeOf(quantize(bad, out, 'Q4_0')), 'bad_model', `${bytes} bytes`);
  }
  assert.equal(leftovers(), []);
});

test('a folder that is not there, or an output that is a folder, is a failed write', async () => {
  const nowhere = join(folder, 'no', 'such', 'out.gguf');
  assert.is(await codeOf(quantize(model, nowhere, 'Q8_0')), 'write_failed');
  mkdirSync(join(folder, 'taken'), { recursive: true });
  assert.is.not(await codeOf(quantize(model, join(folder, 'taken'), 'Q8_0')), 'bad_model');
  assert.equal(leftovers(), []);
});

test('a cancelled call ends soon, leaves nothing, and the next one works', async () => {
  const out = join(folder, 'out.gguf');
  const controller = new AbortController();
  const cancelled = quantize(model, out, 'IQ4_XS', {
    threads: 1,
    signal: controller.signal,
    onProgress: (share) => share > 0.1 && controller.abort(),
  });
  assert.is(await codeOf(cancelled), 'cancelled');
  assert.is(await codeOf(quantize(model, out, 'Q8_0', { signal: AbortSignal.abort() })), 'cancelled');
  assert.equal(leftovers(), []);
  await quantize(model, out, 'Q8_0');
  rmSync(out);
});

test('several at once take turns and are all right', async () => {
  const results = await Promise.all(
    ['Q8_0', 'Q4_0', 'Q8_0'].map((type, i) => quantize(model, join(folder, `turn-${i}.gguf`), type)),
  );
  assert.is(results[0]?.bytes, results[2]?.bytes);
  assert.equal(readFileSync(join(folder, 'turn-0.gguf')), readFileSync(join(folder, 'turn-2.gguf')));
});

test('the program prints progress, and on failure one line and exit 1', async () => {
  const out = join(folder, 'program.gguf');
  const good = await run([model, out, 'q4_k_m']);
  assert.is(good.code, 0, good.err);
  const records = good.lines.map((line) => JSON.parse(line) as { progress: number; bytes?: number });
  assert.ok(records.length > 5);
  assert.ok(records.every((record, i) => record.progress >= (records[i - 1]?.progress ?? 0)));
  assert.equal(records.at(-1), { progress: 1, bytes: statSync(out).size, fallback_tensors: 0 });

  const bad = await run([join(folder, 'bad.gguf'), join(folder, 'out.gguf'), 'Q8_0']);
  assert.is(bad.code, 1);
  assert.is((JSON.parse(bad.err) as { code: string }).code, 'bad_model');
  const usage = await run(['only-one']);
  assert.is(usage.code, 1);
  assert.is((JSON.parse(usage.err) as { code: string }).code, 'usage');
  assert.equal(leftovers(), []);
});

test('SIGTERM cancels the program cleanly', async () => {
  const large = join(folder, 'large.gguf');
  writeTinyGguf(large, { width: 512, feedForward: 2048, layers: 4 });
  const stopped = await run([large, join(folder, 'out.gguf'), 'IQ4_XS'], { signal: 'SIGTERM' });
  assert.is(stopped.code, 1);
  assert.is((JSON.parse(stopped.err) as { code: string }).code, 'cancelled');
  assert.equal(leftovers(), []);
});

if (process.platform === 'linux') {
  test('a full disk and a file size limit are told apart, and nothing is left', async () => {
    const preload = preloading(shim('full-disk', folder));
    for (const limit of [1000, 300_000, 1_500_000]) {
      const env = { LD_PRELOAD: preload, FAKE_DISK_BYTES: String(limit) };
      const full = await run([model, join(folder, 'out.gguf'), 'Q8_0'], { env });
      assert.is(full.code, 1, `${limit} bytes`);
      assert.is((JSON.parse(full.err) as { code: string }).code, 'disk_full', full.err);
    }
    const limited = await run([model, join(folder, 'out.gguf'), 'Q8_0'], { shell: 'ulimit -f 600' });
    assert.is(limited.code, 1);
    assert.is((JSON.parse(limited.err) as { code: string }).code, 'file_too_large', limited.err);
    assert.equal(leftovers(), []);
  });
}

test.run();
