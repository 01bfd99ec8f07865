import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { balanced, pytestDurations } from './durations.ts';
import { root } from './folders.ts';
import { isUnit } from './unit-files.ts';

test('pytest’s durations are added up by file', () => {
  const output = `
============================= slowest durations ==============================
12.50s call     tests/test_run.py::test_a[x::y]
0.50s setup    tests/test_run.py::test_a[x::y]
1.25s call     tests/test_steps.py::test_b
2 passed in 14.25s`;
  assert.equal(pytestDurations(output), {
    'trainer/tests/test_run.py': 13,
    'trainer/tests/test_steps.py': 1.25,
  });
});

test('groups have similar durations, and none is empty', () => {
  const seconds: Record<string, number> = { a: 50, b: 30, c: 20, d: 10 };
  const secondsOf = (file: string) => seconds[file] as number;
  assert.equal(balanced(['a', 'b', 'c', 'd'], 2, secondsOf), [
    ['a', 'd'],
    ['b', 'c'],
  ]);
  assert.equal(balanced(['a'], 2, secondsOf), [['a']]);
});

test('every file whose duration is listed is there', () => {
  const listed = Object.keys(JSON.parse(readFileSync(join(root, 'test', 'durations.json'), 'utf8')));
  assert.equal(
    listed.filter((file) => !file.startsWith('lint/') && !existsSync(join(root, file))),
    [],
  );
});

test('a file that starts a process, directly or through a helper, is not a unit test', () => {
  assert.ok(isUnit('test/durations.test.ts'));
  assert.not(isUnit('test/native/gpu.test.ts'));
  assert.not(isUnit('test/api/client.test.ts'), 'through test/service.ts');
});

test.run();
