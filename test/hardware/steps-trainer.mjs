// A little program in the trainer's place that does nothing but steps: one metric each, slowly enough for the sampler.

import { spawnSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const args = process.argv.slice(2);
if (!args.includes('run')) {
  const root = process.env.HONE_TEST_REAL_ROOT;
  const env = { ...process.env, PYTHONPATH: root, LD_LIBRARY_PATH: '' };
  const { status } = spawnSync(`${root}/trainer/.venv/bin/python`, args, { stdio: 'inherit', env });
  process.exit(status ?? 1);
}
let seq = 0;
const say = (type, fields) => {
  const line = { seq, time: new Date().toISOString(), type, ...fields };
  appendFileSync('journal.jsonl', `${JSON.stringify(line)}\n`);
  seq += 1;
};
const steps = 6;
const unknown = { learning_rate: null, grad_norm: null, tokens_per_second: null, eta_seconds: null };
say('hello', { protocol: 1, pid: process.pid, resumed_from_step: null, versions: {} });
for (let step = 1; step <= steps; step += 1) {
  writeFileSync('heartbeat', '');
  await sleep(500);
  const progress = {
    step,
    total_steps: steps,
    epoch: step / steps,
    total_epochs: 1,
    elapsed_seconds: step / 2,
  };
  say('metric', { ...progress, ...unknown, loss: 1, tokens: step, memory_bytes: null, extra: {} });
}
say('failed', { code: 'unsupported', message: 'That was all.', advice: null, evidence: null });
process.exitCode = 1;
