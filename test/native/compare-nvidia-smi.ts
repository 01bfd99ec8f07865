/*
 * For a machine with an NVIDIA GPU: holds every fact and figure that the addon gives against `nvidia-smi -q -x` and
 * prints the table; exit 1 when one differs.
 *
 *   node --import tsx test/native/compare-nvidia-smi.ts [--markdown]
 *
 * Figures that move are read by nvidia-smi before and after ours, and ours must lie between the two, give or take the
 * tolerance of its row.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFacts } from '../../src/hardware/facts.ts';
import type { HardwareSample } from '../../src/hardware/sample.ts';
import { startSampler } from '../../src/hardware/sampler.ts';

type Value = string | number | null;

const mebibyte = 2 ** 20;
const query = () => execFileSync('nvidia-smi', ['-q', '-x'], { encoding: 'utf8', maxBuffer: 2 ** 26 });

/** The text of the first element at a path such as `fb_memory_usage/total`; `null` for N/A. */
function at(xml: string, path: string): string | null {
  let inner: string | undefined = xml;
  for (const name of path.split('/')) {
    inner = new RegExp(`<${name}(?: [^>]*)?>([\\s\\S]*?)</${name}>`).exec(inner ?? '')?.[1];
  }
  const found = inner?.trim();
  return found === undefined || /N\/A|Not Supported|Insufficient|Requested functionality/.test(found)
    ? null
    : found;
}

const gpusOf = (xml: string) => [...xml.matchAll(/<gpu id="[^"]*">[\s\S]*?<\/gpu>/g)].map(([gpu]) => gpu);
const numberAt = (xml: string, path: string) => {
  const found = at(xml, path);
  return found === null ? null : Number.parseFloat(found);
};
/** The first of several paths that has a number: the names of some elements changed over the years. */
const firstAt = (xml: string, ...paths: string[]) =>
  paths.map((path) => numberAt(xml, path)).find((found) => found !== null) ?? null;

async function lastFrame(): Promise<HardwareSample> {
  let latest: HardwareSample | undefined;
  let read = 0;
  const sampler = startSampler({
    onBatch: (frames) => {
      latest = frames.findLast(({ gpuState }) => gpuState === 'read') ?? latest;
      if (latest !== undefined) read += 1;
    },
  });
  if (sampler.reason !== null) throw new Error(sampler.reason);
  while (read < 4) await sleep(50); // rates need two readings
  sampler.stop();
  return latest as HardwareSample;
}

const rows: { what: string; ours: Value; theirs: string; agrees: boolean }[] = [];
function row(what: string, ours: Value, theirs: readonly Value[], tolerance = 0): void {
  const numbers = theirs.filter((value) => typeof value === 'number');
  const agrees =
    typeof ours === 'number' && numbers.length > 0
      ? ours >= Math.min(...numbers) - tolerance && ours <= Math.max(...numbers) + tolerance
      : theirs.includes(ours);
  rows.push({ what, ours, theirs: [...new Set(theirs)].map(String).join(' … '), agrees });
}

const before = query();
const facts = await readFacts({ dataDir: '.', gpuTimeoutMs: 60_000 });
const frame = await lastFrame();
const after = query();

row('driver version', facts.driverVersion, [at(before, 'driver_version')]);
row('CUDA version', facts.cudaVersion, [at(before, 'cuda_version')]);
for (const gpu of facts.gpus.filter(({ mig }) => !mig)) {
  const [then, now] = [before, after].map((xml) =>
    gpusOf(xml).find((one) => at(one, 'uuid') === gpu.uuid),
  ) as [string | undefined, string | undefined];
  if (then === undefined || now === undefined) {
    row(`GPU ${gpu.index}`, gpu.uuid, [null]);
    continue;
  }
  const both = (...paths: string[]) => [firstAt(then, ...paths), firstAt(now, ...paths)];
  const live = frame.gpus[gpu.index];
  const is = (what: string, ours: Value, theirs: readonly Value[], tolerance = 0) =>
    row(`GPU ${gpu.index}: ${what}`, ours, theirs, tolerance);
  const inMebibytes = (bytes: number | null | undefined) =>
    bytes === null || bytes === undefined ? null : bytes / mebibyte;

  is('name', gpu.name, [at(then, 'product_name')]);
  is('number', gpu.nvmlIndex, [gpusOf(before).indexOf(then)]);
  is('total MiB', inMebibytes(gpu.totalBytes), both('fb_memory_usage/total'), 1);
  is('used MiB', inMebibytes(gpu.usedBytes), both('fb_memory_usage/used'), 2);
  is('free MiB', inMebibytes(gpu.freeBytes), both('fb_memory_usage/free'), 2);
  is('used MiB, live', inMebibytes(live?.usedBytes), both('fb_memory_usage/used'), 2);
  is('utilization %', live?.utilizationPercent ?? null, both('utilization/gpu_util'), 5);
  is('memory utilization %', live?.memoryUtilizationPercent ?? null, both('utilization/memory_util'), 5);
  is('temperature °C', live?.temperatureCelsius ?? null, both('temperature/gpu_temp'), 1);
  const power = ['instant_power_draw', 'average_power_draw', 'power_draw'].map(
    (name) => `gpu_power_readings/${name}`,
  );
  is('power W', live?.powerWatts ?? null, both(...power, 'power_readings/power_draw'), 5);
  is('SM clock MHz', live?.smClockMHz ?? null, both('clocks/sm_clock'), 30);
  is('memory clock MHz', live?.memoryClockMHz ?? null, both('clocks/mem_clock'), 1);
  const processes = [...(/<processes>([\s\S]*?)<\/processes>/.exec(now)?.[1] ?? '').matchAll(/<pid>(\d+)/g)];
  is('processes', gpu.processes?.length ?? null, [new Set(processes.map(([, pid]) => pid)).size]);
}

const line = ({ what, ours, theirs, agrees }: (typeof rows)[number]) =>
  [what, String(ours), theirs, agrees ? 'same' : 'DIFFERS'].join(' | ');
const isMarkdown = process.argv.includes('--markdown');
if (isMarkdown) process.stdout.write('| fact | ours | nvidia-smi | |\n|---|---|---|---|\n');
for (const entry of rows) process.stdout.write(isMarkdown ? `| ${line(entry)} |\n` : `${line(entry)}\n`);
process.exitCode = rows.every(({ agrees }) => agrees) ? 0 : 1;
