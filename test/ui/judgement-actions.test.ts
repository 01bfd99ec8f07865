/** What the page offers after a judgement, and what "Measure now" starts. */
import './page-globals.ts';

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { JobDetail } from '../../ui/api/types.ts';
import { judgementActions, startBoth } from '../../ui/views/runs/verdict/judgement.ts';
import { type Asked, answerWith } from './page-globals.ts';

const job = { job_id: 'train_1', model_id: 'mine', dataset: 'a.jsonl', request: {} } as unknown as JobDetail;
const overfitted = {
  ...{ kind: 'overfitted' as const, sentence: '', notes: [] },
  ...{ changes: { num_train_epochs: 2 }, checkpoint: 10 },
};

/** The text of a template, with that of the templates in it. */
function textOf(part: unknown): string {
  if (Array.isArray(part)) return part.map(textOf).join('');
  const { strings, values } = Object(part) as { strings?: string[]; values?: unknown[] };
  return strings === undefined
    ? ['string', 'number'].includes(typeof part)
      ? String(part)
      : ''
    : strings.map((text, index) => text + textOf(values?.[index])).join('');
}

test('a checkpoint is offered as long as its model is there, and the settings also after it was deleted', () => {
  const offered = (isKept: boolean) => textOf(judgementActions(job, overfitted, isKept));
  assert.match(offered(true), '/playground/mine?weights=step:10');
  assert.match(offered(true), 'Use this checkpoint');
  for (const text of ['playground', 'Use this checkpoint']) assert.not.match(offered(false), text);
  for (const isKept of [true, false]) assert.match(offered(isKept), 'Train again with these settings');
});

test('of two evaluations of which one can be queued, that of the model is, and it is told', async () => {
  const asked: Asked['body'][] = [];
  const answers: unknown[] = [{ evaluation_id: 'eval_1' }, 409];
  answerWith(({ body }) => {
    asked.push(body);
    return answers.shift();
  });
  const { started, error } = await startBoth(job);
  assert.equal([started, error?.status], [['eval_1'], 409]);
  assert.equal(asked, [
    { dataset: 'a.jsonl', model: 'mine' },
    { dataset: 'a.jsonl', model: 'mine', as_base: true },
  ]);

  answers.push({ evaluation_id: 'eval_2' }, { evaluation_id: 'eval_3' });
  assert.equal(await startBoth(job), { started: ['eval_3', 'eval_2'], error: null });
  answers.push(409);
  assert.equal((await startBoth(job)).started, []);
});

test.run();
