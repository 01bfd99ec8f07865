import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runSeconds } from '../../../src/domain/job-record/timing/run-seconds.ts';

const startedAt = '2026-11-01T10:00:00.000Z';

test('a job has run in all of its attempts, and not for less than nothing', () => {
  assert.is(runSeconds({ earlierSeconds: 30, startedAt, endedAt: '2026-11-01T10:00:10.500Z' }), 40.5);
  assert.is(runSeconds({ earlierSeconds: 30, startedAt, endedAt: '2026-11-01T09:00:00.000Z' }), 30);
  assert.is(runSeconds({ earlierSeconds: 30, startedAt: null, endedAt: null }), 30);
});

test('a job that runs has run until now', () => {
  const aMinuteAgo = new Date(Date.now() - 60_000).toISOString();
  assert.ok(runSeconds({ earlierSeconds: 30, startedAt: aMinuteAgo, endedAt: null }) >= 90);
});

test.run();
