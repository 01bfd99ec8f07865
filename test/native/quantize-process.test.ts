/** Quantization in a process of its own: whatever happens to it costs that quantization alone, and leaves nothing. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type QuantizeProcessOptions, quantizeInProcess } from '../../src/native/quantize-process.ts';
import { root } from '../folders.ts';
import { until } from '../service.ts';
import { preloading, shim } from './fake/build.ts';
import { writeTinyGguf } from './tiny-gguf.ts';

const folder = mkdtempSync(join(tmpdir(), 'hone-quantize-process-'));
const input = join(folder, 'model.gguf');
const output = join(folder, 'out.gguf');
const pidFile = join(folder, 'pid');
/** The built program, which writes its process ID first. */
const command = [
  ...['sh', '-c', `echo $$ > ${pidFile}.new && mv ${pidFile}.new ${pidFile} && exec "$@"`, 'sh'],
  ...[process.execPath, join(root, 'dist', 'quantize.js')],
];
// Large enough to be interrupted after its first report.
writeTinyGguf(input, { width: 512, feedForward: 2048, layers: 4 });

test.after(() => rmSync(folder, { recursive: true, force: true }));

const leftovers = () => readdirSync(folder).filter((name) => name.startsWith('out.gguf'));
const childPid = () => Number(readFileSync(pidFile, 'utf8'));

function run(type: string, options: Partial<QuantizeProcessOptions> = {}): Promise<void> {
  return quantizeInProcess(input, output, type, {
    command,
    silenceMs: 600_000,
    onProgress: () => undefined,
    signal: new AbortController().signal,
    ...options,
  });
}

/** The code and message of a failure. */
async function failure(work: Promise<void>) {
  const error = await work.then(
    () => null,
    (thrown) => thrown,
  );
  assert.ok(error instanceof Error, 'it fails');
  return { code: (error as Error & { details: { code: string } }).details.code, message: error.message };
}

/** Options that do something to the process at its first report. */
const atFirstReport = (act: () => void): Partial<QuantizeProcessOptions> => {
  let done = false;
  return {
    onProgress: () => {
      if (!done) act();
      done = true;
    },
  };
};

test('writes the file, with rising progress up to 1', async () => {
  const progress: number[] = [];
  await run('Q8_0', { onProgress: (share) => progress.push(share) });
  assert.is(readFileSync(output).subarray(0, 4).toString(), 'GGUF');
  assert.ok(progress.every((share, place) => share >= (progress[place - 1] ?? 0)));
  assert.is(progress.at(-1), 1);
  rmSync(output);
  assert.equal(leftovers(), []);
});

test('a killed process is reported and leaves no files', async () => {
  const { code, message } = await failure(
    run(
      'IQ4_XS',
      atFirstReport(() => process.kill(childPid(), 'SIGKILL')),
    ),
  );
  assert.is(code, 'crashed');
  assert.match(message, 'by signal SIGKILL');
  assert.equal(leftovers(), []);
});

test('a stopped process is killed after its time', async () => {
  const { code } = await failure(
    run('IQ4_XS', { silenceMs: 3_000, ...atFirstReport(() => process.kill(childPid(), 'SIGSTOP')) }),
  );
  assert.is(code, 'hung');
  assert.throws(() => process.kill(childPid(), 0), /ESRCH/);
  assert.equal(leftovers(), []);
});

test('a cancelled process ends and leaves nothing; so does a stopped one', async () => {
  for (const alsoStop of [false, true]) {
    const controller = new AbortController();
    const act = () => {
      if (alsoStop) process.kill(childPid(), 'SIGSTOP');
      controller.abort();
    };
    const { code } = await failure(run('IQ4_XS', { signal: controller.signal, ...atFirstReport(act) }));
    assert.is(code, 'cancelled');
    assert.throws(() => process.kill(childPid(), 0), /ESRCH/);
    assert.equal(leftovers(), []);
  }
});

test('its own failure message is passed on; a program that cannot start is reported', async () => {
  assert.is((await failure(run('Q9_X'))).code, 'unsupported_type');
  const whole = readFileSync(input);
  writeFileSync(input, whole.subarray(0, 5000));
  assert.is((await failure(run('Q8_0'))).code, 'bad_model');
  writeFileSync(input, whole);
  const error = await run('Q8_0', { command: [join(folder, 'none')] }).catch((thrown) => thrown);
  assert.match(error.message, 'ENOENT');
  assert.equal(leftovers(), []);
});

test('it gets no secrets', async () => {
  process.env.HUB_TOKEN = 'canary';
  process.env.AWS_SECRET_ACCESS_KEY = 'canary';
  const program = 'console.error(JSON.stringify({ code: "told", message: JSON.stringify(process.env) }))';
  const { message } = await failure(
    run('Q8_0', { command: [process.execPath, '-e', `${program}; process.exit(1)`] }),
  );
  assert.match(message, '"PATH"');
  assert.not.match(message, /canary|HUB_TOKEN|AWS_/);
});

test('it ends with its parent, also when that is killed', async () => {
  rmSync(pidFile);
  const program = `
    import { quantizeInProcess } from ${JSON.stringify(join(root, 'src/native/quantize-process.ts'))};
    void quantizeInProcess(${JSON.stringify(input)}, ${JSON.stringify(output)}, 'IQ4_XS', {
      command: ${JSON.stringify(command)}, silenceMs: 600_000, signal: new AbortController().signal,
      onProgress: () => process.kill(process.pid, 'SIGKILL'),
    });`;
  const file = join(folder, 'parent.mts');
  writeFileSync(file, program);
  const parent = spawn(process.execPath, ['--import', 'tsx', file], { cwd: root, stdio: 'inherit' });
  await new Promise((resolve) => parent.once('exit', resolve));
  assert.is(parent.signalCode, 'SIGKILL');
  // A process without a parent may stay as a zombie.
  const gone = () => {
    const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(childPid())], { encoding: 'utf8' });
    return stdout.trim() === '' || stdout.trim().startsWith('Z');
  };
  await until(gone, 'the process ended');
  assert.equal(leftovers(), []);
});

if (process.platform === 'linux') {
  test('a full disk is told, and nothing is left', async () => {
    const preload = preloading(shim('full-disk', folder));
    const full = ['env', `LD_PRELOAD=${preload}`, 'FAKE_DISK_BYTES=300000', ...command];
    const { code } = await failure(run('Q8_0', { command: full }));
    assert.is(code, 'disk_full');
    assert.equal(leftovers(), []);
  });
}

test.run();
