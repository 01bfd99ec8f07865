import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  root,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  until,
} from '../service.ts';
import { addFile, addJob, type OtherSide, startOtherSide } from './other-side.ts';

const key = 'sk-canary-typed-0123456789';
const main = join(root, 'dist', 'main.js');
const python = join(root, 'trainer', '.venv', 'bin', 'python');
/** Types a line in a terminal and prints what the terminal shows. */
const typed = `
import os, pty, sys
key, *command = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown = b""
asked = False
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if b"(not shown): " in shown and not asked:
        asked = True
        os.write(terminal, key.encode() + b"x\\x7f\\r")
print(shown.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

let side: OtherSide;
let service: TestService;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly errors: string;
}

/** Runs `hone import` with these arguments. */
function start(args: readonly string[], env: NodeJS.ProcessEnv, input: string, dataDir = service.dataDir) {
  const { OPENAI_API_KEY: _key, ...rest } = process.env;
  const child = spawn(process.execPath, [main, 'import', ...args], {
    cwd: dataDir,
    env: { ...rest, SERVICE_DATA_DIR: dataDir, ...env },
  });
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code) => resolve({ code, out, errors })),
  );
  return { child, ended };
}
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}, input = '', dataDir?: string) =>
  start(args, env, input, dataDir).ended;

test.before(async () => {
  side = await startOtherSide(key);
  addFile(side, 'file-train', 'support.jsonl', supportRows());
  addJob(side, 'ftjob-1');
  addJob(side, 'ftjob-2', { training_file: 'file-gone' });
  side.evals.push({
    ...{ object: 'eval', id: 'eval_1', created_at: 1_772_442_900, name: 'Answers' },
    ...{ data_source_config: { type: 'logs', schema: {} }, testing_criteria: [] },
  });
  service = await startService({ env: { OPENAI_BASE_URL: `${side.url}/v1` } });
});
test.after(async () => {
  await endAll();
  await side.close();
});

test('without a running service it says how to start one', async () => {
  const { code, errors } = await run(['openai'], { OPENAI_API_KEY: key }, '', temporaryFolder());
  assert.is(code, 1);
  assert.match(errors, /not running.*npm start/);
});

test('another command, and no key, are refused', async () => {
  for (const args of [[], ['elsewhere'], ['openai', key]]) {
    const { code, errors } = await run(args, { OPENAI_API_KEY: key });
    assert.is(code, 1);
    assert.match(errors, /Use "hone import openai"/);
  }
  assert.match((await run(['openai'], {}, '\n')).errors, /No API key/);
  assert.is(side.arrived.length, 0);
});

test('it lists with the key of the environment, and downloads nothing', async () => {
  const { code, out } = await run(['openai', '--list'], { OPENAI_API_KEY: key });
  assert.is(code, 0);
  assert.match(out, /support\.jsonl: not downloaded/);
  assert.match(out, /ftjob-1 \(gpt-4\.1-mini-2025-04-14, supervised, succeeded\)/);
  assert.not(side.arrived.some((request) => request.path.endsWith('/content')));
});

test('an interruption cancels the move', async () => {
  side.trouble = (path, response) => {
    if (!path.endsWith('/content')) return false;
    response.write(supportRows().slice(0, 1000));
    return true;
  };
  const { child, ended } = start(['openai'], {}, `${key}\n`);
  await until(() => side.arrived.some((request) => request.path.endsWith('/content')), 'the download began');
  child.kill('SIGINT');
  assert.is((await ended).code, 130);
  assert.is((await service.call('GET', '/api/move/openai')).body.state, 'cancelled');
  side.trouble = () => false;
});

test('it moves with a key from a pipe and prints the equal training', async () => {
  const { code, out, errors } = await run(['openai'], {}, `${key}\n`);
  assert.is(code, 0, errors);
  assert.match(out, /support\.jsonl: dataset support\.jsonl/);
  assert.match(out, /file-gone: not available\. .*deleted or has expired/);
  assert.match(out, /eval_1 \(Answers\): in \/v1\/evals, with 0 runs/);
  const proposal = JSON.parse(/^ {2}(\{.*\})$/m.exec(out)?.[1] ?? '{}');
  assert.is(proposal.dataset, 'support.jsonl');
  assert.is(proposal.num_train_epochs, 3);
  assert.not.match(out + errors, /canary/);
});

test('a key that is not accepted is told, and not repeated', async () => {
  const { code, out, errors } = await run(['openai'], {}, 'sk-wrong-canary');
  assert.is(code, 1);
  assert.match(errors, /does not accept the API key \(401\)/);
  assert.not.match(out + errors, /canary/);
});

test('in a terminal the key is asked for and not shown', async () => {
  if (process.platform === 'win32' || !existsSync(python)) return;
  const { OPENAI_API_KEY: _key, ...env } = process.env;
  const { stdout } = await promisify(execFile)(
    python,
    ['-c', typed, key, process.execPath, main, 'import', 'openai', '--list'],
    { cwd: service.dataDir, env: { ...env, SERVICE_DATA_DIR: service.dataDir } },
  );
  assert.match(stdout, /OpenAI API key \(not shown\)/);
  assert.match(stdout, /completed, 2 files, 2 jobs and 1 evals/);
  assert.not.match(stdout, /canary/);
});

test.run();
