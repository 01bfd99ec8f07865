import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Phase } from '../../../src/contract/jobs.ts';
import type { JournalLine } from '../../../src/contract/journal.ts';
import type { Job } from '../../../src/domain/job-record/job.ts';
import { applyLines } from '../../../src/domain/jobs/job-journal.ts';

const started = {
  id: 1,
  state: 'running',
  progress: null,
  phase: null,
  lastMetric: null,
  clock: null,
} as unknown as Job;

test('the progress of a job never falls, though parts of a phase are each counted from 0', () => {
  const told: unknown[] = [];
  let seq = 0;
  const enter = (phase: Phase, progress: number | null) =>
    ({ seq: ++seq, time: '', type: 'phase', phase, progress, detail: null }) as JournalLine;
  const lines = [
    ...[enter('check', null), enter('load', null), enter('load', 1), enter('load', 0.1), enter('load', null)],
    ...[enter('probe', null), enter('quantize', 1), enter('quantize', 0), enter('verify', 0.5)],
  ];
  const { job } = applyLines(
    started,
    lines,
    (type, _id, payload) => type === 'progress' && told.push(payload.progress),
    () => null,
  );
  assert.equal(told, [0, 3.6, 4.3, 4.3, 4.3, 4.3, 97.5, 97.5, 98.8]);
  assert.is(job.progress, 98.8);
  assert.is(job.phaseProgress, 0.5);
});

test.run();
