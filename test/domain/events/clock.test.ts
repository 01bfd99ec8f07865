import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import { createFrameLog, type Frame } from '../../../src/domain/events/frame-log.ts';
import { readSeries } from '../../../src/domain/events/series.ts';
import { root, temporaryFolder } from '../../folders.ts';

const hourMs = 3_600_000;
const migrations = join(root, 'src', 'db', 'migrations');

test('a clock that is set back changes no order: frames follow their numbers, points their steps', () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  const published: Frame[] = [];
  const jobs: number[] = [];
  const start = Date.parse('2026-01-02T00:00:00.000Z');
  // The second part is written after a restart, and before the first by its clock.
  for (const part of [0, 1]) {
    const store = openStore(path, migrations);
    const timeAt = (step: number) => new Date(start - part * hourMs + step * 1_000).toISOString();
    jobs.push(
      store.jobs.insert({
        ...{ modelId: `model-${part}`, state: 'running', task: 'text-generation', provider: 'standard' },
        ...{ strategy: 'sft', modelName: 'a/b', datasetName: 'rows.jsonl', createdAt: timeAt(0) },
      }),
    );
    const log = createFrameLog(store, (frame) => published.push(frame));
    for (let step = 1; step <= 3; step += 1) {
      log.commit((emit) => {
        emit('metrics', jobs[0] as number, { kind: 'train', step: part * 3 + step, loss: 1 }, timeAt(step));
      });
    }
    store.close();
  }
  const store = openStore(path, migrations);
  const seqs = published.map(({ seq }) => seq);
  assert.equal(
    seqs,
    [...seqs].sort((a, b) => a - b),
  );
  assert.is(new Set(seqs).size, 6);
  assert.ok((published[3] as Frame).time < (published[2] as Frame).time, 'the clock was set back');
  assert.equal([...createFrameLog(store, () => undefined).replay(0)], published);
  assert.equal(
    readSeries(store.events, jobs[0] as number, 0).train.map(({ step }) => step),
    [1, 2, 3, 4, 5, 6],
  );
  assert.equal([store.jobs.newest()?.id], [jobs[1]], 'the newest job is the last one made');
  store.close();
});

test.run();
