/** `hone doctor`, and the archive for a bug report. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root, temporaryFolder } from '../service.ts';

const folder = temporaryFolder();
const jobs = join(folder, 'data', 'jobs');
const secret = 'hf_SecretOfThisTest';
const row = 'Where does Ada keep her violin?';

/** Runs a command of the service's program, without setting up. */
const hone = (...args: string[]) =>
  new Promise<{ code: number; out: string; errors: string }>((resolve) => {
    const env = {
      ...process.env,
      OMP_NUM_THREADS: '1',
      HF_HUB_OFFLINE: '1',
      HUB_TOKEN: secret,
      HOME: folder,
    };
    const own = { SERVICE_DATA_DIR: join(folder, 'data'), XDG_CACHE_HOME: join(folder, 'cache') };
    execFile(
      process.execPath,
      [join(root, 'dist', 'main.js'), ...args],
      { cwd: folder, env: { ...env, ...own } },
      (error, out, errors) => resolve({ code: error === null ? 0 : Number(error.code), out, errors }),
    );
  });

test.before(() => {
  const job = join(jobs, 'train_1');
  mkdirSync(job, { recursive: true });
  const line = (fields: object) => `${JSON.stringify({ time: '2026-01-01T00:00:00.000Z', ...fields })}\n`;
  const settings = { learning_rate: 0.5, optim: 'adamw_torch', golden_prompts: [row] };
  writeFileSync(
    join(job, 'spec.json'),
    JSON.stringify({ strategy: 'sft', dataset: { name: row }, settings }),
  );
  writeFileSync(
    join(job, 'journal.jsonl'),
    line({ type: 'metric', step: 7, loss: 1.5, extra: {} }) +
      line({ type: 'sample', step: 7, prompt: row, text: row }) +
      line({ type: 'failed', code: 'internal', message: `Cannot read ${row}`, evidence: row }) +
      '{"cut',
  );
  writeFileSync(
    join(job, 'log.txt'),
    `Traceback:\n  File "${folder}/trainer/data/encode.py", line 12, in encode\n    ${row}\nValueError: ${row}\n`,
  );
});

test('each part of the installation works, and JSON says so', async () => {
  const { code, out } = await hone('doctor', '--json');
  const { ok, checks } = JSON.parse(out);
  // A machine that builds no accelerated parts has all others.
  assert.equal(
    checks.filter((one: { ok: boolean }) => !one.ok),
    [],
  );
  assert.equal([code, ok], [0, true]);
  assert.match(
    checks.find(({ name }: { name: string }) => name === 'PyTorch').detail,
    /500 x 500 product on /,
  );
  assert.not.match(out, new RegExp(secret));
});

test('a report has figures and frames of the newest runs, and neither rows nor secrets; the log of a run that is named', async () => {
  const { code, out, errors } = await hone('report');
  assert.is(code, 0, errors);
  const unpack = (): Record<string, string> => {
    const [archive] = readdirSync(folder)
      .filter((name) => name.endsWith('.tar.gz'))
      .sort()
      .slice(-1);
    const to = temporaryFolder();
    execFileSync('tar', ['xzf', join(folder, archive as string), '-C', to]);
    const files = readdirSync(to, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return Object.fromEntries(
      files.map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'utf8')]),
    );
  };
  const files = unpack();
  assert.equal(Object.keys(files).sort(), ['machine.json', 'train_1.json']);
  for (const text of [out, ...Object.values(files)])
    for (const one of [secret, row, 'Ada', folder]) assert.not.ok(text.includes(one), `${one} in ${text}`);
  const { spec, journal, frames } = JSON.parse(files['train_1.json'] as string);
  assert.equal(spec.settings, { learning_rate: 0.5, optim: 'adamw_torch', golden_prompts: ['(left out)'] });
  assert.equal(
    journal.map(({ type, step, code: failure }: Record<string, unknown>) => type ?? step ?? failure),
    ['metric', 'failed', undefined],
  );
  assert.equal(frames, ['File "trainer/data/encode.py", line 12, in encode', 'ValueError']);
  assert.ok(JSON.parse(files['machine.json'] as string).variables.includes('HUB_TOKEN'));

  assert.is((await hone('report', 'train_1')).code, 0);
  const withLog = unpack();
  assert.ok(withLog['train_1.txt']?.includes(row));
  const refused = await hone('report', '../../etc');
  assert.is(refused.code, 1);
  assert.match(refused.errors, /There is no run "\.\.\/\.\.\/etc"/);
});

test.run();
