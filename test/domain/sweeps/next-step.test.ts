/** What a sweep does next, and which trials it stops. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loses, nextStep } from '../../../src/domain/sweeps/next-step.ts';
import type { Sweep, Trial } from '../../../src/domain/sweeps/sweep.ts';

const trial = (state: string, changes: object = {}): Trial => {
  const job = state === 'deleted' ? null : { state, errorMessage: `why it ${state}` };
  return { state, job, row: { culled: false }, evaluations: [], ...changes } as unknown as Trial;
};
const step = (trials: number, states: readonly string[], parallel = 2) =>
  nextStep({ trials, trialsDone: states.map((state) => trial(state)) }, parallel);

test('trials start while there is room, up to their number', () => {
  assert.is(step(3, []).kind, 'start');
  assert.is(step(3, ['running']).kind, 'start');
  assert.is(step(3, ['running', 'queued']).kind, 'wait');
  assert.is(step(3, ['completed', 'failed', 'running']).kind, 'wait');
  assert.is(step(3, ['completed', 'failed', 'completed']).kind, 'complete');
  assert.is(step(3, ['completed', 'deleted', 'stopped']).kind, 'complete');
});

test('three failures and nothing else end it, with the first reason', () => {
  assert.is(step(9, ['failed', 'interrupted']).kind, 'start');
  assert.is(step(9, ['failed', 'failed', 'interrupted', 'completed']).kind, 'start');
  const { kind, error } = { error: '', ...step(9, ['failed', 'interrupted', 'failed']) };
  assert.is(kind, 'fail');
  assert.match(error, /first 3 trials .* why it failed/);
});

test('culling stops a running trial that two of three beat at the same point', () => {
  const at = (value: number, state = 'completed') =>
    trial(state, { evaluations: [{ step: 2, fraction: 0.2, value }] });
  const own = at(3, 'running');
  const sweep = (...others: Trial[]) =>
    ({ culling: true, direction: 'minimize', trialsDone: [...others, own] }) as unknown as Sweep;
  assert.is(loses(sweep(at(1), at(2)), own), true);
  assert.is(loses(sweep(at(4), at(5)), own), false);
  // Too few have come as far.
  assert.is(loses(sweep(at(1), trial('running')), own), false);
  assert.is(loses({ ...sweep(at(1), at(2)), culling: false }, own), false);
  for (const other of [at(3), trial('running', { ...own, row: { culled: true } })])
    assert.is(loses(sweep(at(1), at(2)), other), false);
});

test.run();
