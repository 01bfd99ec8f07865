/** What `/api/info` says of a cluster is known at once, however long its head takes to answer. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createClusterView } from '../../../src/domain/machine/cluster.ts';
import { AppError } from '../../../src/errors.ts';
import type { ClusterState } from '../../../src/trainer/cluster.ts';

const address = 'head:6379';
const node = { address: '10.0.0.1', cpus: 2, gpus: 0, free_cpus: 2, free_gpus: 0 };
const state: ClusterState = { address, available: true, reason: null, nodes: [node] };

/** Returns when what has been answered was taken over. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('without a cluster there is nothing to ask', () => {
  const view = createClusterView(null, async () => {
    throw new Error('asked');
  });
  assert.is(view(), null);
});

test('a look never waits, and what was answered last is shown until the next answer', async () => {
  const asked: { resolve(state: ClusterState): void; reject(error: Error): void }[] = [];
  const view = createClusterView(
    address,
    () => new Promise<ClusterState>((resolve, reject) => asked.push({ resolve, reject })),
    0,
  );
  assert.is(asked.length, 1, 'it is asked at once');
  const before = view();
  assert.equal([before?.available, before?.asked_at, before?.nodes], [false, null, []]);
  assert.match(before?.reason ?? '', 'not answered yet');
  assert.is(asked.length, 1, 'one question at a time');
  asked[0]?.resolve(state);
  await settled();
  const { asked_at: askedAt, ...rest } = view() ?? { asked_at: null };
  assert.equal(rest, state);
  assert.ok(Math.abs(Date.parse(askedAt ?? '') - Date.now()) < 600_000);
  assert.is(asked.length, 2, 'that look has asked anew');
  asked[1]?.reject(new AppError('unavailable', 'no Python'));
  await settled();
  const broken = view();
  assert.equal([broken?.address, broken?.available, broken?.nodes], [address, false, []]);
  assert.match(broken?.reason ?? '', 'no Python');
});

test.run();
