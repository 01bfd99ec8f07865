/** The task of the form, which follows the fields of the dataset only once. */
import './page-globals.ts';

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fillDraft } from '../../ui/settings/draft-request.ts';
import { chooseTask, fitDataset } from '../../ui/settings/fit-task.ts';
import { choices, datasets } from '../../ui/state/app.ts';
import { draft } from '../../ui/state/drafts/draft.ts';
import { stored } from './page-globals.ts';

const classes = { name: 'text-classification', row_shapes: ['labelled'] };
const answers = { name: 'text-generation', row_shapes: ['prompt'] };

test.before.each(() => {
  choices.put({
    tasks: [classes, answers],
    strategies: [{ name: 'sft', row_shape: null, tasks: [classes.name, answers.name] }],
  } as never);
  datasets.put([
    { filename: 'labels.jsonl', shape: 'labelled' },
    { filename: 'prompts.jsonl', shape: 'prompt' },
  ] as never);
});

/** The task after the dataset was chosen, or after the form was opened again. */
function fitted(change: Parameters<typeof draft.change>[0] = {}): string {
  draft.change(change);
  fitDataset();
  return draft.value.task;
}

test('a dataset that is chosen chooses the task, and a task that is chosen after it stays with its model', () => {
  assert.is(fitted({ dataset: 'labels.jsonl' }), classes.name);
  chooseTask(answers.name);
  assert.is(fitted({ model: 'owner/name' }), answers.name);
  assert.is(draft.value.model, 'owner/name');
  assert.is(JSON.parse(stored.get('hone.draft') ?? '{}').fittedTo, 'labels.jsonl', 'also after a reload');
  fitted({ dataset: 'prompts.jsonl' });
  assert.is(fitted({ dataset: 'labels.jsonl' }), classes.name);
});

test('the task and the strategy of a run that is duplicated stay, though its dataset has other fields by now', () => {
  fitted({ dataset: 'prompts.jsonl' });
  fillDraft({ task: answers.name, model_name: 'owner/name', dataset: 'labels.jsonl', strategy: 'dpo' });
  assert.is(fitted(), answers.name);
  assert.is(draft.value.strategy, 'dpo');
});

test.run();
