import { setImmediate } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { alignedMemory } from '../../src/native/aligned-memory.ts';

// That it is aligned is seen by test/domain/datasets/new-file.test.ts: the system takes no other memory.
test('memory has the size that was asked for, can be written, and is given back', async () => {
  const before = process.memoryUsage.rss();
  for (let count = 0; count < 64; count += 1) {
    const bytes = alignedMemory(2 ** 24);
    assert.is(bytes?.length, 2 ** 24);
    bytes?.fill(count);
    assert.is(bytes?.at(-1), count);
    await setImmediate(); // the end of an object's memory is a task of its own
  }
  assert.ok(process.memoryUsage.rss() - before < 2 ** 29, 'of 1 GiB, less than half is held at once');
});

test('a size out of bounds is an error', () => {
  for (const bytes of [0, -1, Number.NaN, 2 ** 26 + 1]) assert.throws(() => alignedMemory(bytes), /size/);
});

test.run();
