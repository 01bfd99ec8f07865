/** What is shown of a log. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { lastLine, withoutProgressBars } from '../../src/contract/log-text.ts';

/** A log, and what is shown of it. */
const cases: readonly [string, string][] = [
  ['one\n\ntwo', 'one\n\ntwo'],
  ['one\r\ntwo\r\n', 'one\ntwo\n'],
  [
    'Loading:   0%|          | 0/2 [00:00<?, ?it/s]\rLoading: 100%|██████████| 2/2 [00:01<00:00, 1.9it/s]\nloaded',
    'loaded',
  ],
  ['first\nMap: 37 examples [00:01, 36.20 examples/s]\nlast', 'first\nlast'],
  ['\rmodel.safetensors:  12%|█▏        | 12.0M/100M [00:01<00:10, 9.00MB/s]\u001b[A\nlast', 'last'],
  ['   ━━━━━━━━━━━━━━━━━━━━╸━━━━━━━━━ 11.0/16.0 MB 9.1 MB/s eta 0:00:01\nlast', 'last'],
  [
    '\r 50%|█████     | 1/2 [00:01<00:01, 1.0s/it]\rUserWarning: odd\r100%|██████████| 2/2 [00:02<00:00]\n',
    'UserWarning: odd\n',
  ],
  ['10 % done\r20 % done\r\nlast', '20 % done\nlast'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['| table | 50% |\nloss [12:30] 3%', '| table | 50% |\nloss [12:30] 3%'],
];

test('the last line of a log is what is quoted when a process ends without a word', () => {
  assert.is(lastLine('loaded\nKilled\n\n'), 'Killed');
  assert.is(lastLine('loaded\n\r 50%|█████     | 1/2 [00:01<00:01, 1.0s/it]'), 'loaded');
  assert.is(lastLine('x'.repeat(600)), 'x'.repeat(500));
  assert.is(lastLine(''), '');
});

for (const [log, shown] of cases) {
  test(`${JSON.stringify(log)} is shown as ${JSON.stringify(shown)}`, () => {
    assert.is(withoutProgressBars(log), shown);
  });
}

test.run();
