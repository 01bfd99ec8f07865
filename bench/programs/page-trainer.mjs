// A trainer that computes nothing, for the page bench: it implements the trainer's contract in a job folder, at a given
// rate. Other trainer commands are passed to the real trainer.
//
// HONE_TEST_PAGE contains { points, hour, perSecond }. It writes `perSecond` steps per second while it runs. When a file
// `burst` or `hour` appears in the folder, it writes that many steps (`points`, `hour`) about a hundred times faster,
// and renames the file to `burst-over` or `hour-over`. The file `stop` ends it.
import { spawnSync } from 'node:child_process';
import { appendFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';

const args = process.argv.slice(2);
if (!args.includes('run')) {
  const root = process.env.HONE_TEST_REAL_ROOT;
  const env = { ...process.env, PYTHONPATH: root };
  process.exit(spawnSync(`${root}/trainer/.venv/bin/python`, args, { stdio: 'inherit', env }).status ?? 1);
}

const { points, hour, perSecond } = JSON.parse(process.env.HONE_TEST_PAGE);
const bursts = { burst: points, hour };
const burstSteps = 500;
const total = 10_000_000;
let seq = 0;
let step = 0;
let left = 0;
let current = null;

const line = (type, fields) => {
  const text = JSON.stringify({ seq, time: new Date().toISOString(), type, ...fields });
  seq += 1;
  return `${text}\n`;
};
const say = (...lines) => appendFileSync('journal.jsonl', lines.join(''));
const metric = () => {
  step += 1;
  const noise = Math.sin(step * 12.9898) * 0.2;
  return line('metric', {
    step,
    total_steps: total,
    epoch: step / 1000,
    total_epochs: total / 1000,
    loss: 3 * Math.exp(-step / 40_000) + 0.3 + noise,
    learning_rate: 2e-4 * (1 - step / total),
    grad_norm: 1 + noise,
    tokens: step * 512,
    tokens_per_second: 4000 + 500 * noise,
    elapsed_seconds: step / perSecond,
    eta_seconds: (total - step) / perSecond,
    memory_bytes: 2 ** 30,
    extra: { mean_token_accuracy: 0.9 + noise / 10 },
  });
};
const metrics = (count) => Array.from({ length: count }, metric);

say(line('hello', { protocol: 1, pid: process.pid, resumed_from_step: null, versions: {} }));
say(line('phase', { phase: 'train', progress: null, detail: null }));

const paceMs = 1000 / perSecond;
setInterval(() => {
  writeFileSync('heartbeat', '');
  const found = readdirSync('.');
  if (found.includes('stop')) {
    say(line('done', { outcome: 'stopped', step, metrics: {}, verification: null }));
    process.exit(0);
  }
  const asked = Object.keys(bursts).find((name) => found.includes(name));
  if (asked !== undefined && current === null) {
    current = asked;
    left = bursts[asked];
  }
  const count = Math.min(left, burstSteps);
  say(...metrics(count || 1));
  left -= count;
  if (current !== null && left === 0) {
    renameSync(current, `${current}-over`);
    current = null;
  }
}, paceMs);
