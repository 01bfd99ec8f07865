// A little trainer that fails in the ways a real one can: started like it, by the argument vector of the
// service, in the job's folder. HONE_TEST_SCENARIO says how.

import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const args = process.argv.slice(2);
if (args.includes('preview')) {
  const failed = { code: 'unsupported', message: 'The little trainer shows no rows.', advice: null };
  process.stdout.write(`${JSON.stringify({ failed })}\n`);
  process.exit(1);
}
const exportsAgain = args.includes('reexport') && process.env.HONE_TEST_SCENARIO.startsWith('export');
const scores = args.includes('evaluate') && process.env.HONE_TEST_SCENARIO === 'polite';
if (!args.includes('run') && !scores && !exportsAgain) {
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
/** Takes two steps, the last one, and leaves what a training does. */
const train = () => {
  hello();
  say('phase', { phase: 'train', progress: null, detail: null });
  const pace = { epoch: 1, total_epochs: 1, elapsed_seconds: 1, eta_seconds: 0, tokens_per_second: 1 };
  const figures = { loss: 0.5, learning_rate: 0.001, grad_norm: 1, tokens: 2, memory_bytes: null, extra: {} };
  say('metric', { step: 2, total_steps: 2, ...pace, ...figures });
  mkdirSync('artifacts/adapter', { recursive: true });
  writeFileSync('artifacts/adapter/adapter_config.json', '{}');
  writeFileSync('artifacts/template.json', '{"source":"hone"}');
  say('artifact', { kind: 'adapter', path: 'artifacts/adapter', bytes: 2, quantization: null });
  say('artifact', { kind: 'template', path: 'artifacts/template.json', bytes: 17, quantization: null });
  writeFileSync('trained.json', '{"version":1,"step":2,"metrics":{"final_loss":0.5}}');
};
const refusal = {
  code: 'verification_failed',
  message: 'model.layers.0.self_attn.q_proj.weight is not what was trained.',
  advice: 'Export another type.',
};
const failedExport = ({ code, message: reason, advice }, types) => ({
  ...{ state: 'failed', code, reason, advice },
  files: types.map((quantization) => ({ quantization, state: 'failed', reason })),
});
const madeExport = (types) => ({
  ...{ state: 'done', code: null, reason: null, advice: null },
  files: types.map((quantization) => ({ quantization, state: 'done', reason: null })),
});
const ended = { outcome: 'completed', step: 2, metrics: { final_loss: 0.5 }, verification: null };
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
    for (const name of ['full-precision', 'full-precision.partial']) mkdirSync(name);
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
  // Trains to the end, with evaluations whose loss is lowest at a learning rate of 0.001.
  evaluates: () => {
    hello();
    const { settings } = JSON.parse(readFileSync('spec.json', 'utf8'));
    const { learning_rate: rate, max_steps: total, eval_steps: every } = settings;
    const distance = Math.abs(Math.log10(rate) + 3);
    const unknown = { learning_rate: rate, grad_norm: null, tokens_per_second: null, eta_seconds: null };
    const pace = Number(process.env.HONE_TEST_PACE_MS ?? 2);
    let step = readFileSync('journal.jsonl', 'utf8').split('"metric"').length - 1;
    const end = (outcome, metrics) => {
      clearInterval(timer);
      if (outcome === 'completed') {
        mkdirSync('artifacts/adapter', { recursive: true });
        writeFileSync('artifacts/adapter/adapter_config.json', '{}');
      }
      say('done', { outcome, step, metrics, verification: null });
    };
    // The base model is evaluated first.
    if (step === 0) say('eval', { step, epoch: 0, metrics: { eval_loss: 9, mean_token_accuracy: -9 } });
    const timer = setInterval(() => {
      writeFileSync('heartbeat', '');
      if (existsSync('stop')) return end('stopped', {});
      step += 1;
      const loss = distance + 1 / step;
      say('metric', {
        ...{ step, total_steps: total, epoch: step / total, total_epochs: 1, elapsed_seconds: step },
        ...{ ...unknown, loss, tokens: step, memory_bytes: null, extra: {} },
      });
      const metrics = { eval_loss: loss, mean_token_accuracy: -loss };
      if (step % every === 0) say('eval', { step, epoch: step / total, metrics });
      if (step >= total) end('completed', metrics);
    }, pace);
  },
  // Takes one step, and once there is a file `go` ten thousand a second, until it is asked to stop.
  burst: () => {
    hello();
    say('phase', { phase: 'train', progress: null, detail: null });
    const { settings } = JSON.parse(readFileSync('spec.json', 'utf8'));
    const total = settings.max_steps;
    let step = 0;
    const take = (count) => {
      const lines = Array.from({ length: count }, () => {
        step += 1;
        const line = {
          ...{ seq, time: new Date().toISOString(), type: 'metric', step, total_steps: total },
          ...{ epoch: step / total, total_epochs: 1, loss: 1 + 1 / step, learning_rate: 0.001, grad_norm: 1 },
          ...{ tokens: step * 512, tokens_per_second: 5e6, elapsed_seconds: step / 1e4, eta_seconds: 1 },
          ...{ memory_bytes: 2 ** 30, extra: { mean_token_accuracy: 0.5 } },
        };
        seq += 1;
        return `${JSON.stringify(line)}\n`;
      });
      appendFileSync('journal.jsonl', lines.join(''));
    };
    take(1);
    let begun = null;
    const timer = setInterval(() => {
      writeFileSync('heartbeat', '');
      if (existsSync('stop')) {
        clearInterval(timer);
        say('done', { outcome: 'stopped', step, metrics: {}, verification: null });
      } else if (existsSync('go') && step < total) {
        begun ??= performance.now() - 50;
        take(Math.min(total - step, Math.round((performance.now() - begun) * 10) - step));
      }
    }, 50);
  },
  // Scores nothing until the file `go` says how it ends.
  scores: () => {
    hello();
    say('phase', { phase: 'evaluate', progress: 0.5, detail: 'half of it' });
    const timer = setInterval(() => {
      writeFileSync('heartbeat', '');
      if (!existsSync('go')) return;
      clearInterval(timer);
      const end = readFileSync('go', 'utf8');
      if (end === 'crash') {
        process.stderr.write('ValueError: the rows do not fit\n');
        process.exitCode = 3;
      } else if (end === 'fail') {
        const evidence = null;
        say('failed', { code: 'disk_full', message: 'The disk is full.', advice: 'Free some.', evidence });
        process.exitCode = 1;
      } else {
        const rows = readFileSync('dataset.jsonl', 'utf8').trim().split('\n');
        const results = rows.map((row, index) => {
          const { input, output } = JSON.parse(row);
          const found = { line: index + 1, prompt: input, reference: output, rejected: null };
          return { ...found, answer: end, figures: { loss: index } };
        });
        writeFileSync('rows.json', JSON.stringify(results));
        say('warning', { code: 'rows_truncated', message: 'One row is cut.' });
        say('done', { outcome: 'completed', step: 0, metrics: { loss: 2.5 }, verification: null });
      }
    }, 20);
  },
  // Trains; its export fails, and succeeds when it is resumed.
  'export-fails': () => {
    if (!existsSync('trained.json')) {
      train();
      return say('done', { ...ended, export: failedExport(refusal, ['Q8_0']) });
    }
    hello();
    writeFileSync('artifacts/model-Q8_0.gguf', 'GGUF');
    say('artifact', { kind: 'gguf', path: 'artifacts/model-Q8_0.gguf', bytes: 4, quantization: 'Q8_0' });
    say('done', { ...ended, export: madeExport(['Q8_0']) });
  },
  'export-killed': () => {
    train();
    say('phase', { phase: 'convert', progress: 0.5, detail: null });
    mkdirSync('export.partial');
    process.kill(process.pid, 'SIGKILL');
  },
  // As trainers of earlier versions did.
  'export-ends-the-run': () => {
    train();
    say('failed', { ...refusal, evidence: null });
    process.exitCode = 1;
  },
  // Makes the types of a kept model once the file `go`, beside the specification, says how.
  reexport: () => {
    const [specPath, dir, list, ...choice] = args.slice(args.indexOf('reexport') + 1);
    const types = list.split(',');
    // At a strength or of a checkpoint, all goes into another folder.
    const into = choice.length === 0 ? dir : choice[choice.indexOf('--into') + 1];
    const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
    const scratch = join(dir, 'export.partial');
    mkdirSync(scratch, { recursive: true });
    writeFileSync(join(scratch, `model-${types[0]}.gguf`), 'half of it');
    tell({ phase: 'convert', progress: 0.5, detail: `merging into ${types[0]}` });
    const leave = (code) => {
      rmSync(scratch, { recursive: true });
      process.exit(code);
    };
    process.on('SIGTERM', () => leave(1));
    setInterval(() => {
      const go = join(dirname(specPath), 'go');
      if (!existsSync(go)) return;
      const how = readFileSync(go, 'utf8');
      if (how === 'die') process.kill(process.pid, 'SIGKILL');
      if (how === 'refuse') {
        tell({ failed: { ...refusal, evidence: null } });
        leave(1);
      }
      // Of several types, the first alone.
      const made = how === 'one' ? types.slice(0, 1) : types;
      if (into !== dir) {
        for (const folder of ['adapter', 'trained']) mkdirSync(join(into, folder), { recursive: true });
        writeFileSync(join(into, 'adapter', 'adapter_config.json'), JSON.stringify(choice));
      }
      for (const quantization of made) {
        const path = `model-${quantization}.gguf`;
        writeFileSync(join(into, path), into === dir ? 'GGUF!' : `GGUF ${choice.join(' ')}`);
        tell({ artifact: { kind: 'gguf', path, bytes: 5, quantization } });
      }
      const cost = { passed: true, loss_increase: 0.003, mean_kl: 0.0012, agreement: 0.994 };
      const figures = Object.fromEntries(made.map((type) => [type, cost]));
      writeFileSync(join(into, 'verification.json'), JSON.stringify({ version: 1, files: figures }));
      const lost = failedExport(refusal, types.slice(made.length));
      const { files } = madeExport(made);
      const outcome =
        lost.files.length === 0 ? madeExport(made) : { ...lost, files: [...files, ...lost.files] };
      tell({ export: outcome, verification: { passed: lost.files.length === 0 } });
      leave(0);
    }, 20);
  },
  // Fails after a checkpoint, and when it is resumed waits for the file `go`, then completes.
  story: () => {
    const isResumed = seq > 0;
    say('hello', { protocol: 1, pid: process.pid, resumed_from_step: isResumed ? 2 : null, versions: {} });
    const phase = (name) => say('phase', { phase: name, progress: null, detail: null });
    const evaluated = (step, loss) => say('eval', { step, epoch: step / 2, metrics: { eval_loss: loss } });
    for (const name of ['check', 'load', 'evaluate', 'train']) {
      phase(name);
      if (name === 'evaluate' && !isResumed) evaluated(0, 2.5);
    }
    if (!isResumed) {
      process.stderr.write('Loading weights:   0%|          | 0/2 [00:00<?, ?it/s]\r');
      process.stderr.write(
        'Loading weights: 100%|██████████| 2/2 [00:00<00:00, 9.00it/s]\nloaded the weights\n',
      );
      say('warning', { code: 'rows_truncated', message: 'One row is cut.' });
      phase('evaluate');
      evaluated(2, 1.25);
      phase('train');
      say('checkpoint', { step: 2, path: 'checkpoints/checkpoint-2', reason: 'interval', best: true });
      say('failed', {
        code: 'disk_full',
        message: 'The disk is full.',
        advice: 'Free some.',
        evidence: null,
      });
      process.exitCode = 1;
      return;
    }
    const timer = setInterval(() => {
      writeFileSync('heartbeat', '');
      if (!existsSync('go')) return;
      clearInterval(timer);
      mkdirSync('artifacts/adapter', { recursive: true });
      writeFileSync('artifacts/adapter/adapter_config.json', '{}');
      say('artifact', { kind: 'adapter', path: 'artifacts/adapter', bytes: 2048, quantization: null });
      say('done', { outcome: 'completed', step: 4, metrics: {}, verification: null });
    }, 20);
  },
  'deaf-to-stop': () => {
    hello();
    process.on('SIGTERM', () => undefined);
    setInterval(() => writeFileSync('heartbeat', ''), 100);
  },
};
scenarios[scores ? 'scores' : exportsAgain ? 'reexport' : process.env.HONE_TEST_SCENARIO]();
