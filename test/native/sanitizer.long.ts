/** The tests of the addon, and requests to a service that has it, on a build with sanitizers. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root, temporaryFolder } from '../folders.ts';
import { fuzz } from '../load/fuzz.ts';
import { buildSanitized, expectClean, sanitizedEnvironment } from './sanitizers.ts';

/** As many rows and requests as `npm run test:long -- --count N` says; CI has fewer requests than rows, which take longer. */
const rows = process.env.HONE_COUNT ?? '20000';
const requests = Number(process.env.HONE_COUNT ?? 3_000);

if (process.platform === 'linux') {
  const logs = temporaryFolder();

  test('the addon builds with sanitizers', buildSanitized);

  const files = [
    ...['aligned-memory', 'duplicates', 'gpu', 'gpu-faults', 'lifetime', 'quantize', 'rows'].map(
      (name) => `${name}.test.ts`,
    ),
    'fuzz.long.ts',
  ];
  for (const file of files) {
    const name = file.split('.', 1)[0] as string;
    test(`the tests of ${name} are clean under the sanitizers`, () => {
      const env = {
        ...process.env,
        ...sanitizedEnvironment(logs, name),
        // A fixed seed: llama.cpp itself, which is not instrumented, may crash on other files.
        HONE_SEED: process.env.HONE_SEED ?? '7',
        HONE_COUNT: rows,
      };
      const ran = spawnSync(process.execPath, ['--import', 'tsx', join('test', 'native', file)], {
        cwd: root,
        encoding: 'utf8',
        env,
      });
      for (const [figure] of ran.stdout.matchAll(/figure: .+/g)) console.log(`${figure}, with sanitizers`);
      expectClean(logs, name);
      assert.not.match(ran.stdout + ran.stderr, 'runtime error:');
      assert.is(ran.status, 0, ran.stdout + ran.stderr);
    });
  }

  test("the tests of the trainer's kernels are clean under the sanitizers", () => {
    const tests = join('trainer', 'tests', 'kernels', 'test_kernels.py');
    const ran = spawnSync(join(root, 'trainer', '.venv', 'bin', 'python'), ['-m', 'pytest', tests], {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, ...sanitizedEnvironment(logs, 'kernels'), OMP_NUM_THREADS: '1' },
    });
    expectClean(logs, 'kernels');
    assert.is(ran.status, 0, ran.stdout + ran.stderr);
    assert.match(ran.stdout, /\d+ passed/);
  });

  fuzz('uws', requests, {
    env: sanitizedEnvironment(logs, 'service'),
    // The sanitizer keeps what was freed for a while, to notice its use.
    growthBytes: Number.POSITIVE_INFINITY,
    afterEnd: () => expectClean(logs, 'service'),
  });
}

test.run();
