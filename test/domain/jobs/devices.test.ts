/** Which devices a run gets, and when it has to wait. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  describeShare,
  keepHeld,
  pickDevices,
  readHeld,
  shareMachine,
} from '../../../src/domain/jobs/run/devices.ts';
import type { Machine } from '../../../src/domain/machine/machine.ts';

/** A machine with so many cores and GPUs; those in `lost` have failed. */
function machineWith(cores: number, gpus: readonly (string | null)[], lost: readonly number[] = []): Machine {
  return {
    facts: {
      gpus: gpus.map((uuid, index) => ({ index, uuid, lost: lost.includes(index) ? 'off the bus' : null })),
      gpuTotalBytes: gpus.length * 2 ** 30,
      torchCudaVersion: gpus.length > 0 ? '12.8' : null,
      cpuCoresLogical: cores,
      cpuCoresPhysical: cores,
    },
  } as unknown as Machine;
}

test('alone, a run has everything, and the next one waits', () => {
  const alone = { parallel: 1, count: 1 };
  assert.is(pickDevices(alone, [], 1), null);
  assert.is(pickDevices(alone, [], 64), null);
  assert.is(pickDevices(alone, [null], 1), undefined);
});

test('each of several runs has devices of its own, as many as it has workers; what is wider than the machine gets all', () => {
  const four = { parallel: 3, count: 4 };
  assert.equal(pickDevices(four, [], 1), [0]);
  assert.equal(pickDevices(four, [[0]], 2), [1, 2]);
  assert.equal(pickDevices(four, [[0], [2]], 2), [1, 3]);
  assert.is(pickDevices(four, [[0], [1, 2]], 2), undefined, 'one device is free');
  assert.is(pickDevices(four, [[0], [1], [2]], 1), undefined, 'three runs are the most');
  assert.is(pickDevices(four, [null], 1), undefined, 'a run of an earlier service has everything');
  assert.equal(pickDevices(four, [], 64), [0, 1, 2, 3]);
  assert.is(pickDevices(four, [[3]], 64), undefined);
});

test('a run on the cluster and one on this machine never run at once, as both may use the same devices', () => {
  const four = { parallel: 3, count: 4 };
  assert.is(pickDevices(four, [], 2, true), 'cluster');
  assert.is(pickDevices(four, ['cluster'], 8, true), 'cluster', 'the cluster gives each its own');
  assert.is(pickDevices(four, ['cluster', 'cluster', 'cluster'], 2, true), undefined);
  assert.is(pickDevices(four, [[0]], 2, true), undefined);
  assert.is(pickDevices(four, ['cluster'], 1), undefined);
  assert.is(pickDevices({ parallel: 1, count: 1 }, ['cluster'], 1), undefined);
  const cores = shareMachine(machineWith(9, []), 2, {});
  assert.equal(cores.environment('cluster'), {}, 'its ranks get theirs on their nodes');
});

test('what a run holds is known after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hone-test-'));
  try {
    for (const held of [[1, 2], 'cluster', null] as const) {
      await keepHeld(folder, held);
      assert.equal(readHeld(folder), held);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('GPUs are named by their UUID, or as CUDA_VISIBLE_DEVICES has them; those that failed are left out', () => {
  const named = shareMachine(machineWith(8, ['GPU-a', 'GPU-b', 'GPU-c'], [1]), 3, {});
  assert.is(named.count, 2);
  assert.equal(named.environment([1]), { CUDA_VISIBLE_DEVICES: 'GPU-c' });
  assert.equal(named.environment([0, 1]), { CUDA_VISIBLE_DEVICES: 'GPU-a,GPU-c' });
  assert.equal(named.environment(null), {});
  assert.match(describeShare(named), '2 trainings at once, each with a GPU, as there are no more');
  const unnamed = machineWith(8, [null, null]);
  assert.equal(shareMachine(unnamed, 2, { CUDA_VISIBLE_DEVICES: '4, 6' }).environment([1]), {
    CUDA_VISIBLE_DEVICES: '6',
  });
  assert.equal(shareMachine(unnamed, 2, {}).environment([1]), { CUDA_VISIBLE_DEVICES: '1' });
});

test('without a GPU, the cores are shared, and one remains for the playground; fewer threads that the user set are kept', () => {
  const nine = shareMachine(machineWith(9, []), 2, {});
  assert.equal(nine.environment([0]), { OMP_NUM_THREADS: '4' });
  assert.equal(nine.environment([0, 1]), { OMP_NUM_THREADS: '8' });
  assert.is(describeShare(nine), '2 trainings at once, each with 4 threads');
  assert.equal(shareMachine(machineWith(9, []), 2, { OMP_NUM_THREADS: '3' }).environment([1]), {
    OMP_NUM_THREADS: '3',
  });
  const two = shareMachine(machineWith(2, []), 8, {});
  assert.is(two.count, 2);
  assert.equal(two.environment([1]), { OMP_NUM_THREADS: '1' });
});

test.run();
