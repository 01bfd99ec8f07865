/** The figures of a run that did not complete. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import { createFrameLog } from '../../../src/domain/events/frame-log.ts';
import { createJobRecords } from '../../../src/domain/jobs/job-records.ts';
import { root, temporaryFolder } from '../../folders.ts';

const store = openStore(join(temporaryFolder(), 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
const frames = createFrameLog(store, () => undefined);
const records = createJobRecords(store, frames);
test.after(() => store.close());

const trained = (step: number, loss: number | null) => ({ kind: 'train', step, loss });
const evaluated = (step: number, loss: number) => ({ kind: 'eval', step, metrics: { eval_loss: loss } });

/** The figures of a run with these frames of metrics, once it has ended. */
function figuresOf(state: 'failed' | 'stopped' | 'completed', points: readonly object[], change = {}) {
  const id = store.jobs.insert({
    ...{ modelId: randomUUID(), state: 'running', task: 'text-generation' },
    ...{ provider: 'standard', strategy: 'sft', modelName: 'owner/name', datasetName: 'a.jsonl' },
    createdAt: '2026-01-01T00:00:00.000Z',
  });
  frames.commit((emit) => {
    for (const point of points) emit('metrics', id, { ...point });
  });
  return records.end(id, state, change).resultMetrics;
}

test('a run that fails or is stopped keeps its latest loss and evaluation', () => {
  const points = [evaluated(0, 9), trained(1, 3), trained(2, 2), evaluated(2, 2.5), trained(3, 1.5)];
  for (const state of ['failed', 'stopped'] as const)
    assert.equal(figuresOf(state, points), { final_loss: 1.5, eval_loss: 2.5 });
});

test('a loss that is not finite, and fails a run, leaves the one before', () => {
  assert.equal(figuresOf('failed', [trained(1, 3), trained(2, null)]), { final_loss: 3 });
});

test('the evaluation of the base model is none of the run, and without a step there are no figures', () => {
  assert.is(figuresOf('failed', [evaluated(0, 9)]), null);
  assert.is(figuresOf('stopped', []), null);
  assert.is(figuresOf('failed', [trained(1, null)]), null);
});

test('a completed run has those that its trainer reports', () => {
  const resultMetrics = { final_loss: 0.5 };
  assert.equal(figuresOf('completed', [trained(1, 3)], { resultMetrics }), resultMetrics);
});

test.run();
