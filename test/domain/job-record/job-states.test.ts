import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  activeStates,
  type JobState,
  resumableStates,
  unfinishedStates,
} from '../../../src/contract/jobs.ts';
import { checkTransition } from '../../../src/domain/job-record/job-states.ts';

const all: JobState[] = [
  'queued',
  'starting',
  'running',
  'stopping',
  'completed',
  'failed',
  'stopped',
  'interrupted',
];

test('what has ended stays so, unless it is resumed', () => {
  for (const to of all) {
    assert.throws(() => checkTransition('completed', to));
    for (const from of resumableStates) {
      if (to === 'queued') checkTransition(from, to);
      else assert.throws(() => checkTransition(from, to), /cannot become/);
    }
  }
});

test('every active job can end in each way', () => {
  for (const from of activeStates)
    for (const to of ['completed', 'failed', 'interrupted'] as const) checkTransition(from, to);
  assert.throws(() => checkTransition('stopping', 'running'));
  assert.throws(() => checkTransition('running', 'starting'));
});

test('a state is unfinished, resumable or complete', () => {
  assert.equal([...unfinishedStates, ...resumableStates, 'completed'].sort(), [...all].sort());
});

test.run();
