/** What is stored of a run, for each way in which one ends. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { derivedExport } from '../../../src/contract/derived-export.ts';
import { checkTransition } from '../../../src/domain/job-record/job-states.ts';
import {
  type EndLine,
  type Intervention,
  outcomeOf,
  type RunEnd,
} from '../../../src/domain/jobs/run/run-outcome.ts';

const untouched: Intervention = { stopRequested: false, stalledAfterMs: null };
const asked = { stopRequested: true, stalledAfterMs: null };
const stalled = { stopRequested: false, stalledAfterMs: 60_000 };
const logTail = 'loading\nKilled: 9';
const head = { seq: 7, time: '2026-01-01T00:00:00.000Z' };

const exported = derivedExport([{ kind: 'gguf', quantization: 'Q8_0' }]);
const done = (outcome: 'completed' | 'stopped'): RunEnd => ({
  kind: 'reported',
  line: {
    ...head,
    type: 'done',
    outcome,
    step: 12,
    metrics: { train_loss: 0.5 },
    verification: { passed: true },
    export: exported,
  } satisfies EndLine,
  logTail,
});
const failure = (evidence: string | null): RunEnd => ({
  kind: 'reported',
  line: { ...head, type: 'failed', code: 'disk_full', message: 'No room.', advice: 'Free some.', evidence },
  logTail,
});
const gone = (code: number | null, signal: string | null, tail = logTail): RunEnd => ({
  kind: 'unreported',
  exit: { code, signal },
  logTail: tail,
});

test('a trainer that reports success leaves a completed job with its figures, whatever was asked meanwhile', () => {
  for (const intervention of [untouched, asked, stalled]) {
    assert.equal(outcomeOf(done('completed'), intervention), {
      state: 'completed',
      change: { resultMetrics: { train_loss: 0.5 }, verification: { passed: true }, export: exported },
    });
  }
});

test('one that saved and stopped was stopped, interrupted or stalled, by what the service did', () => {
  assert.equal(outcomeOf(done('stopped'), asked), { state: 'stopped', change: {} });
  const interrupted = outcomeOf(done('stopped'), untouched);
  assert.is(interrupted.state, 'interrupted');
  assert.is(interrupted.change.errorCode, 'killed');
  assert.match(interrupted.change.errorMessage ?? '', 'step 12');
  for (const intervention of [stalled, { ...stalled, stopRequested: true }]) {
    const { state, change } = outcomeOf(done('stopped'), intervention);
    assert.equal([state, change.errorCode], ['failed', 'stalled']);
  }
});

test('a reported failure keeps its code and message, with the evidence and the log', () => {
  assert.equal(outcomeOf(failure('trace'), untouched), {
    state: 'failed',
    change: {
      errorCode: 'disk_full',
      errorMessage: 'No room.',
      errorAdvice: 'Free some.',
      errorEvidence: `trace\n${logTail}`,
    },
  });
  assert.is(outcomeOf(failure(null), asked).change.errorEvidence, logTail);
});

test('a process that ends without a report is judged by how it ended, with the last line of its log', () => {
  const judged = (end: RunEnd, intervention = untouched) => {
    const { state, change } = outcomeOf(end, intervention);
    return [state, change.errorCode, change.exitCode, change.exitSignal];
  };
  assert.equal(judged(gone(0, null)), ['failed', 'internal', 0, null]);
  assert.equal(judged(gone(1, null)), ['failed', 'internal', 1, null]);
  assert.equal(judged(gone(null, 'SIGKILL')), ['interrupted', 'killed', null, 'SIGKILL']);
  assert.equal(judged(gone(null, null)), ['interrupted', 'killed', null, null]);
  assert.equal(judged(gone(null, 'SIGTERM'), asked), ['stopped', undefined, null, 'SIGTERM']);
  assert.equal(judged(gone(null, 'SIGKILL'), stalled), ['failed', 'stalled', null, 'SIGKILL']);
  assert.equal(judged(gone(1, null), { ...stalled, stopRequested: true }), ['failed', 'stalled', 1, null]);

  const message = (end: RunEnd, intervention = untouched) =>
    outcomeOf(end, intervention).change.errorMessage ?? '';
  assert.match(message(gone(3, null)), /exit code 3 .*: Killed: 9$/);
  assert.match(message(gone(3, null, '')), /Its log is empty\.$/);
  const bar = '\r 50%|█████     | 1/2 [00:01<00:01]';
  assert.match(message(gone(3, null, `odd\n${bar}`)), /The last line of its log: odd$/);
  assert.match(message(gone(3, null, bar)), /no result\.$/);
  assert.match(message(gone(null, 'SIGKILL')), 'killed by SIGKILL, possibly out of memory');
  assert.match(message(gone(null, 'SIGSEGV')), /killed by SIGSEGV\. /);
  assert.match(message(gone(null, null)), 'ended while the service was not running, possibly out of memory');
  assert.match(message(gone(null, 'SIGKILL'), stalled), 'for 60 s');
  assert.is(outcomeOf(gone(1, null), untouched).change.errorEvidence, logTail);
  assert.is(outcomeOf(gone(1, null, ''), untouched).change.errorEvidence, null);
});

test('a run that never came to a trainer has failed, with the reason', () => {
  const { state, change } = outcomeOf({ kind: 'not_started', reason: 'spawn python ENOENT' }, untouched);
  assert.equal([state, change.errorCode], ['failed', 'dependency_missing']);
  assert.match(change.errorMessage ?? '', 'spawn python ENOENT');
  assert.is(outcomeOf({ kind: 'not_prepared' }, untouched).change.errorCode, 'internal');
  const lost = outcomeOf({ kind: 'not_followed', reason: 'disk I/O error' }, untouched);
  assert.equal([lost.state, lost.change.errorCode], ['failed', 'internal']);
  assert.match(lost.change.errorMessage ?? '', 'disk I/O error');
});

test('every outcome is a state that a running and a stopping job may come to', () => {
  const ends = [done('completed'), done('stopped'), failure(null), gone(1, null), gone(null, 'SIGKILL')];
  for (const end of ends) {
    for (const intervention of [untouched, asked, stalled]) {
      const { state } = outcomeOf(end, intervention);
      checkTransition('running', state);
      checkTransition('stopping', state);
    }
  }
});

test.run();
