// A little trainer that fails in the ways a real one can: started like it, by the argument vector of the
// service, in the job's folder. HONE_TEST_SCENARIO says how.

import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

const args = process.argv.slice(2);
if (args.includes('preview')) {
  const failed = { code: 'unsupported', message: 'The little trainer shows no rows.', advice: null };
  process.stdout.write(`${JSON.stringify({ failed })}\n`);
  process.exit(1);
}
if (!args.includes('run')) {
  const root = process.env.HONE_TEST_REAL_ROOT;
  const { status } = spawnSync(`${root}/trainer/.venv/bin/python`, args, {
    stdio: 'inherit',
    env: { ...process.env, PYTHONPATH: root },
  });
  process.exit(status ?? 1);
}
let seq = 0;
try {
  seq = readFileSync('journal.jsonl', 'utf8').split('\n').length - 1;
} catch {}
const say = (type, fields) => {
  appendFileSync(
    'journal.jsonl',
    `${JSON.stringify({ seq, time: new Date().toISOString(), type, ...fields })}\n`,
  );
  seq += 1;
};
const hello = () => say('hello', { protocol: 1, pid: process.pid, resumed_from_step: null, versions: {} });
const forever = () => setInterval(() => undefined, 1000);
const scenarios = {
  'silent-exit': () => hello(),
  'exit-code': () => {
    hello();
    process.stderr.write('Traceback (most recent call last):\nValueError: the weights do not fit\n');
    process.exitCode = 3;
  },
  killed: () => {
    hello();
    process.stderr.write('allocating the last gigabyte\n');
    process.kill(process.pid, 'SIGKILL');
  },
  hung: () => {
    hello();
    process.on('SIGTERM', () => undefined);
    forever();
  },
  stopped: () => {
    hello();
    process.kill(process.pid, 'SIGSTOP');
  },
  garbage: () => {
    hello();
    appendFileSync('journal.jsonl', 'this is no JSON\n{"seq":1,"type":"dance"}\n');
    say('failed', {
      code: 'bad_tokenizer',
      message: 'The tokenizer is odd.',
      advice: 'Choose another.',
      evidence: 'odd',
    });
    process.exitCode = 1;
  },
  lingers: () => {
    hello();
    process.on('SIGTERM', () => undefined);
    say('failed', { code: 'unsupported', message: 'No.', advice: null, evidence: null });
    forever();
  },
  // Until it is asked to stop, and leaves a note of the devices that it was given.
  polite: () => {
    const { CUDA_VISIBLE_DEVICES = null, OMP_NUM_THREADS = null } = process.env;
    writeFileSync('given.json', JSON.stringify({ CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS }));
    hello();
    const timer = setInterval(() => {
      writeFileSync('heartbeat', '');
      if (!existsSync('stop')) return;
      say('done', { outcome: 'stopped', step: 0, metrics: {}, verification: null });
      clearInterval(timer);
    }, 50);
  },
  'deaf-to-stop': () => {
    hello();
    process.on('SIGTERM', () => undefined);
    setInterval(() => writeFileSync('heartbeat', ''), 100);
  },
};
scenarios[process.env.HONE_TEST_SCENARIO]();
