/** What the page offers after a judgement. */
import './page-globals.ts';

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { JobDetail } from '../../ui/api/types.ts';
import { judgementActions } from '../../ui/views/runs/judgement.ts';

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
  assert.not.match(offered(false), 'playground');
  for (const isKept of [true, false]) assert.match(offered(isKept), 'Train again with these settings');
});

test.run();
