/** When a training starts at once, and what is said when it cannot. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { whyItWaits } from '../../../src/domain/jobs/why-it-waits.ts';

const running = { id: 1, state: 'running' } as const;
const queued = { id: 2, state: 'queued' } as const;
const room = () => true;
const noRoom = () => false;
const reason = (...asked: Parameters<typeof whyItWaits>) => whyItWaits(...asked) ?? '';

test('it starts where fewer run than may, and devices are free', () => {
  assert.is(whyItWaits([], { parallel: 1, count: 1 }, 1, noRoom), null);
  assert.is(whyItWaits([running], { parallel: 2, count: 2 }, 1, room), null);
});

test('what stands in the way is named', () => {
  const one = reason([queued, running], { parallel: 1, count: 4 }, 1, room);
  assert.match(one, /^A training is already in progress \(train_1, running\)\. Stop it/);
  const full = reason([running, queued], { parallel: 4, count: 2 }, 1, room);
  assert.match(full, /^2 trainings are already .* and 2 run at once\. .* set "queue" to true/);
  const wide = reason([running], { parallel: 4, count: 4 }, 4, noRoom);
  assert.match(wide, /^A training is .* and too few devices are left for a training with 4 workers\./);
});

test.run();
