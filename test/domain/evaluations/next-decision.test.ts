/** Which evaluation starts, and when one makes room for a training. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextDecision, type QueueState } from '../../../src/domain/evaluations/next-decision.ts';
import type { Place } from '../../../src/domain/evaluations/place.ts';

const place = (free: readonly number[] | null): Place => ({ free, environment: () => ({}) });
const evaluations = [
  { id: 4, state: 'queued' },
  { id: 3, state: 'queued' },
  { id: 2, state: 'queued' },
  { id: 1, state: 'completed' },
] as const;
const idle: QueueState = { evaluations, preparing: new Set(), running: null, place: place(null) };

test('the oldest that is prepared starts', () => {
  assert.equal(nextDecision(idle), { kind: 'start', id: 2, held: null });
  assert.equal(nextDecision({ ...idle, preparing: new Set([2]) }), { kind: 'start', id: 3, held: null });
  assert.equal(nextDecision({ ...idle, preparing: new Set([2, 3, 4]) }), { kind: 'wait' });
  assert.equal(nextDecision({ ...idle, evaluations: evaluations.slice(3) }), { kind: 'wait' });
});

test('it takes the last device that trainings leave free, and waits for one', () => {
  assert.equal(nextDecision({ ...idle, place: place([0, 2]) }), { kind: 'start', id: 2, held: [2] });
  assert.equal(nextDecision({ ...idle, place: null }), { kind: 'wait' });
});

test('one that runs goes on until a training takes its device', () => {
  const decided = (held: readonly number[] | null, now: Place | null, isEnding = false) =>
    nextDecision({ ...idle, running: { held, isEnding }, place: now }).kind;
  assert.is(decided([1], place([0, 1])), 'wait');
  assert.is(decided([1], place([0])), 'yield');
  assert.is(decided([1], null), 'yield');
  assert.is(decided([1], place(null)), 'wait');
  assert.is(decided(null, place([0])), 'wait');
  assert.is(decided(null, null), 'yield');
  assert.is(decided([1], null, true), 'wait');
});

test.run();
