/**
 * Random input for every native path, chosen by a seed: rows, damaged GGUF files, and files of /proc and cgroups.
 * `sanitizer.long.ts` runs it on a build with sanitizers.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../src/native/addon.ts';
import { scanRows } from '../../src/native/scan-rows.ts';
import { root, temporaryFolder } from '../folders.ts';
import { randomFrom, seed } from '../random.ts';
import { damagedGgufs, flippedGgufs } from './damaged-gguf.ts';
import { writeTinyGguf } from './tiny-gguf.ts';

/** As many rows as `npm run test:long -- --count N` says; one quantization and one sampled file for each thousand. */
const count = Number(process.env.HONE_COUNT ?? 100_000);
const few = Math.max(5, Math.ceil(count / 1000));
const random = randomFrom(seed);
const draw = (below: number) => Math.floor(random() * below);
const folder = temporaryFolder();

/** A copy with some bytes changed, cut out or repeated. */
function mutated(bytes: Buffer): Buffer {
  const parts = [Buffer.from(bytes)];
  for (let times = 1 + draw(4); times > 0; times -= 1) {
    const whole = Buffer.concat(parts.splice(0));
    const [from, to] = [draw(whole.length + 1), draw(whole.length + 1)].sort((a, b) => a - b) as [
      number,
      number,
    ];
    const kind = draw(3);
    if (kind === 0 && whole.length > 0) whole[draw(whole.length)] = draw(256);
    if (kind === 1) parts.push(whole.subarray(0, from), whole.subarray(to));
    else if (kind === 2)
      parts.push(whole.subarray(0, to), whole.subarray(from, Math.min(to, from + 1000)), whole.subarray(to));
    else parts.push(whole);
  }
  return Buffer.concat(parts);
}

test(`${count} random rows (seed ${seed}): the scan stays in bounds, and skips only rows`, () => {
  const good = Buffer.from(
    '{"input":"a \\ud83d\\ude00 \\n \\u00e9","more":"ß😀","output":"b\\\\"}\r\n'.repeat(3),
  );
  let rows = 0;
  for (let time = 0; time < count; time += 1) {
    const bytes = mutated(good);
    // Of its own allocation, so that a sanitizer sees a read beyond its end.
    const own = new Uint8Array(new ArrayBuffer(bytes.length));
    own.set(bytes);
    const scanned = scanRows(own, 0, own.length, ['input', 'output']);
    assert.ok(scanned.offset >= 0 && scanned.offset <= own.length);
    rows += scanned.rows;
  }
  assert.ok(rows > 0);
  console.log(`figure: ${count} random rows, of which ${rows} were skipped as rows`);
});

test(`damaged GGUF files (seed ${seed}): quantization ends by itself, or llama.cpp aborts it`, () => {
  const file = join(folder, 'model.gguf');
  writeTinyGguf(file);
  const good = readFileSync(file);
  const known = damagedGgufs(good);
  const files = [
    ...Array.from({ length: few }, () => known[draw(known.length)]),
    ...flippedGgufs(good, seed, few),
  ];
  const ends: Record<string, number> = {};
  for (const damaged of files) {
    writeFileSync(file, damaged?.bytes as Buffer);
    const args = [join(root, 'dist', 'quantize.js'), file, join(folder, 'out.gguf'), 'Q8_0'];
    const { status, signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    const end = signal ?? String(status);
    assert.ok(
      ['0', '1', 'SIGABRT', 'SIGSEGV', 'SIGFPE', 'SIGBUS', 'SIGILL'].includes(end),
      `${damaged?.name}: ${end} ${stderr}`,
    );
    assert.not.match(stderr, /runtime error:|hone\.node.*AddressSanitizer/);
    ends[end] = (ends[end] ?? 0) + 1;
  }
  console.log(`figure: ${files.length} damaged GGUF files quantized, ends ${JSON.stringify(ends)}`);
});

if (process.platform === 'linux') {
  test(`${few} random files of the system (seed ${seed}): the sampler goes on`, async () => {
    const { addon } = loadAddon() as { addon: NonNullable<ReturnType<typeof loadAddon>['addon']> };
    const texts = ['/proc/stat', '/proc/meminfo'].map((path) => readFileSync(path));
    texts.push(
      Buffer.from('usage_usec 123456\nuser_usec 5\n'),
      Buffer.from('inactive_file 4096\n'),
      Buffer.from('123\n'),
    );
    const paths = texts.map((_, index) => join(folder, `system-${index}`));
    const [procStat, meminfo, cgroupCpu, cgroupMemoryStat, cgroupMemory] = paths as [
      string,
      string,
      string,
      string,
      string,
    ];
    // The sampler does not keep a process alive.
    const alive = setInterval(() => undefined, 1_000);
    for (let time = 0; time < few; time += 1) {
      for (const [index, path] of paths.entries()) writeFileSync(path, mutated(texts[index] as Buffer));
      await new Promise<void>((resolve) => {
        const sampler = addon.startSampler({
          ...{ intervalMs: 1, batchMs: 0, gpus: false },
          host: {
            ...{ procStat, meminfo, cgroupCpu, cgroupMemoryStat, cgroupMemory, cpus: [0, 1, 9_999] },
            ...{
              quotaCores: 1,
              memoryLimitBytes: 2 ** 30,
              energy: [cgroupMemory],
              energyRangeMicrojoules: [1000],
            },
          },
          onBatch: () => {
            sampler.stop();
            resolve();
          },
        });
      });
    }
    clearInterval(alive);
    console.log(`figure: ${few} random files of each kind sampled`);
  });
}

test.run();
