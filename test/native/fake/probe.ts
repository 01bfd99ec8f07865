/*
 * Plays scenarios one after the other in one process and prints one line of JSON for each:
 *   node --import tsx probe.ts '[{"env":{"FAKE_GPU_COUNT":"8"},"do":"facts"}]'
 * Started with LD_LIBRARY_PATH set to the fake driver's folder.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFacts } from '../../../src/hardware/facts.ts';
import type { HardwareSample } from '../../../src/hardware/sample.ts';
import { startSampler } from '../../../src/hardware/sampler.ts';

export interface Scenario {
  readonly env: Record<string, string>;
  readonly do: 'facts' | 'frames';
  /** Frames to wait for. Those that the driver was late for, as on a busy machine, are left out … */
  readonly count?: number;
  /** … unless they are what is waited for. */
  readonly late?: boolean;
  readonly hz?: number;
  readonly gpuTimeoutMs?: number;
  /** A file to write after the first frame. */
  readonly thenWrite?: string;
}

async function play(scenario: Scenario): Promise<unknown> {
  if (scenario.do === 'facts') {
    return readFacts({ dataDir: '.', gpuTimeoutMs: scenario.gpuTimeoutMs ?? 10_000 });
  }
  const frames: HardwareSample[] = [];
  const sampler = startSampler({
    hz: scenario.hz ?? 50,
    onBatch: (batch) => {
      frames.push(...batch.filter(({ gpuState }) => scenario.late || gpuState !== 'late'));
      if (scenario.thenWrite !== undefined && frames.length > 0) writeFileSync(scenario.thenWrite, '');
    },
  });
  while (frames.length < (scenario.count ?? 3)) await sleep(10);
  sampler.stop();
  const stoppedAt = frames.length;
  await sleep(60);
  return { frames, afterStop: frames.length - stoppedAt };
}

for (const scenario of JSON.parse(process.argv[2] ?? '[]') as Scenario[]) {
  Object.assign(process.env, scenario.env);
  process.stdout.write(`${JSON.stringify(await play(scenario))}\n`);
  for (const name of Object.keys(scenario.env)) delete process.env[name];
}
