import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { countPytest, countUvu } from './counts.ts';

const uvu = (total: number, passed: number) =>
  `\n  Total:     ${total}\n  Passed:    ${passed}\n  Skipped:   0\n`;

test("uvu's closing lines are read, coloured or not", () => {
  assert.equal(countUvu(uvu(4, 4), 0), { passed: 4, failed: 0 });
  assert.equal(countUvu(uvu(4, 1), 1), { passed: 1, failed: 3 });
  assert.equal(countUvu('  Total:     4\n\u001b[32m  Passed:    4\u001b[39m\n', 0), { passed: 4, failed: 0 });
});

test('a file that ran nothing, died early or exited badly has failed', () => {
  assert.equal(countUvu('', 0), { passed: 0, failed: 1 });
  assert.equal(countUvu('Error: no such module', 1), { passed: 0, failed: 1 });
  assert.equal(countUvu(uvu(4, 4), 1), { passed: 4, failed: 1 });
});

test("pytest's last line is read", () => {
  assert.equal(countPytest('....\n13 passed in 4.35s\n', 0), { passed: 13, failed: 0 });
  assert.equal(countPytest('2 failed, 11 passed, 1 warning in 65.10s (0:01:05)\n', 1), {
    passed: 11,
    failed: 2,
  });
  assert.equal(countPytest('1 error in 0.50s\n', 2), { passed: 0, failed: 1 });
  assert.equal(countPytest('3 passed, 2 errors in 0.50s\n', 1), { passed: 3, failed: 2 });
  assert.equal(countPytest('Segmentation fault', 139), { passed: 0, failed: 1 });
  assert.equal(countPytest('no tests ran in 0.01s\n', 5), { passed: 0, failed: 1 });
});

test.run();
