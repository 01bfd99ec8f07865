import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import { createFrameLog, type Frame, skipFrames } from '../../../src/domain/events/frame-log.ts';
import { root, temporaryFolder } from '../../folders.ts';

const open = (folder: string) =>
  openStore(join(folder, 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));

/** Commits so many frames, and returns their numbers. */
function commit(log: ReturnType<typeof createFrameLog>, sent: Frame[], count: number): number[] {
  const before = sent.length;
  for (let number = 0; number < count; number++)
    log.commit((emit) => emit('status', null, { job_id: 'train_1', state: 'deleted' }));
  return sent.slice(before).map(({ seq }) => seq);
}

test('numbers increase, also over restarts and a lost database, and are not given twice', () => {
  const folder = temporaryFolder();
  const sent: Frame[] = [];
  const publish = (frame: Frame) => void sent.push(frame);
  const store = open(folder);
  const first = commit(createFrameLog(store, publish), sent, 3);
  assert.equal(first, [1, 2, 3]);
  const again = commit(createFrameLog(store, publish), sent, 2);
  assert.ok((again[0] as number) > 3 && again[1] === (again[0] as number) + 1, again.join());
  skipFrames(store);
  const [later] = commit(createFrameLog(store, publish), sent, 1);
  assert.ok((later as number) > 100_000_000);
  assert.equal(
    sent.map(({ seq }) => seq),
    [...new Set(sent.map(({ seq }) => seq))].sort((one, other) => one - other),
  );
});

test('a change that fails stores and publishes nothing', () => {
  const store = open(temporaryFolder());
  const sent: Frame[] = [];
  const log = createFrameLog(store, (frame) => void sent.push(frame));
  assert.throws(
    () =>
      log.commit((emit) => {
        emit('status', null, { job_id: 'train_1', state: 'deleted' });
        throw new Error('no');
      }),
    'no',
  );
  assert.equal([sent, store.events.newestSeq()], [[], 0]);
});

test.run();
