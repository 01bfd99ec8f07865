import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWrongKeys } from '../../../src/domain/access/wrong-keys.ts';
import type { AppError } from '../../../src/errors.ts';

function counter() {
  let time = 0;
  const wrongKeys = createWrongKeys(() => time);
  return {
    pass: (ms: number) => {
      time += ms;
    },
    note: (address: string, times = 1) => {
      for (let count = 0; count < times; count += 1) wrongKeys.note(address);
    },
    /** Seconds to wait, or 0. */
    waitOf: (address: string): number => {
      try {
        wrongKeys.check(address);
        return 0;
      } catch (error) {
        assert.is((error as AppError).kind, 'too_many');
        return (error as AppError).details.retryAfterSeconds as number;
      }
    },
  };
}

test('ten wrong keys of an address within a minute stop it until the minute is over', () => {
  const { pass, note, waitOf } = counter();
  note('192.0.2.1', 9);
  assert.is(waitOf('192.0.2.1'), 0);
  pass(20_500);
  note('192.0.2.1');
  assert.is(waitOf('192.0.2.1'), 40);
  assert.is(waitOf('192.0.2.2'), 0);
  pass(39_499);
  assert.is(waitOf('192.0.2.1'), 1);
  pass(1);
  assert.is(waitOf('192.0.2.1'), 0);
  note('192.0.2.1', 9);
  assert.is(waitOf('192.0.2.1'), 0);
});

test('IPv6 addresses of one /64 network count as one', () => {
  const { note, waitOf } = counter();
  note('2001:db8:1:2::1', 5);
  note('2001:db8:1:2:3:4:5:6', 5);
  assert.is(waitOf('2001:db8:1:2::9'), 60);
  assert.is(waitOf('2001:db8:1:3::1'), 0);
  note('2001:db8::1', 10);
  assert.is(waitOf('2001:db8:0:0:1::'), 60);
});

test('the oldest of 10,000 addresses is forgotten', () => {
  const { note, waitOf } = counter();
  note('192.0.2.1', 10);
  for (let number = 0; number < 9_999; number += 1) note(`10.0.${number >> 8}.${number & 255}`);
  assert.is(waitOf('192.0.2.1'), 60);
  note('10.1.0.0');
  assert.is(waitOf('192.0.2.1'), 0);
});

test.run();
