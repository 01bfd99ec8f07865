import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createContention } from '../../src/inference/worker/contention.ts';

const slow = { threads: 2, wallMs: 100, cpuMs: 110 };
const quick = { threads: 2, wallMs: 100, cpuMs: 180 };

test('one thread is used after a step whose threads did not get their cores', () => {
  const crowding = createContention();
  crowding.add(quick, 0);
  assert.is(crowding.isContended(0), false);
  crowding.add(slow, 100);
  assert.is(crowding.isContended(101), true);
  assert.is(crowding.isContended(1101), false, 'several are tried again');
});

test('several threads are tried less often while they stay slow', () => {
  const crowding = createContention();
  let at = 0;
  const lengths = Array.from({ length: 9 }, () => {
    crowding.add(slow, at);
    const began = at;
    while (crowding.isContended(at)) at += 1000;
    return (at - began) / 1000;
  });
  assert.equal(lengths, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
  crowding.add(quick, at);
  crowding.add(slow, at);
  assert.is(crowding.isContended(at + 1001), false, 'it begins anew after a quick step');
});

test('short steps are judged together, and other numbers of threads tell nothing', () => {
  const crowding = createContention();
  crowding.add({ threads: 1, wallMs: 100, cpuMs: 10 }, 0);
  crowding.add({ threads: 8, wallMs: 100, cpuMs: 200 }, 0);
  for (let at = 0; at < 4; at++) crowding.add({ threads: 2, wallMs: 20, cpuMs: 38 }, at);
  crowding.add({ threads: 2, wallMs: 20, cpuMs: 20 }, 5);
  assert.is(crowding.isContended(6), false, 'a slow one among quick ones');
  for (let at = 10; at < 14; at++) crowding.add({ threads: 2, wallMs: 20, cpuMs: 22 }, at);
  assert.is(crowding.isContended(14), false, 'too short to tell');
  crowding.add({ threads: 2, wallMs: 20, cpuMs: 22 }, 15);
  assert.is(crowding.isContended(16), true);
});

test.run();
