/** The whole way of a user with the keyboard alone: nothing is clicked or focused by the test. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, root, startService, type TestService, tinyModel, until, untilEnded } from '../service.ts';
import { closeBrowser, type OpenPage, openPage, sees } from './browser.ts';
import { focused, Keyboard, walk } from './keyboard.ts';

let service: TestService;
let opened: OpenPage;
let page: Page;
let keys: Keyboard;

test.before(async () => {
  service = await startService({ warm: true });
  opened = await openPage(service.url, '/');
  page = opened.page;
  keys = new Keyboard(page);
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const follow = async (link: RegExp, path: RegExp, heading: RegExp) => {
  await keys.reach(link);
  await keys.press('Enter');
  await page.waitForURL(path);
  await keys.isOn(heading, 'after the page has changed');
};
const stateOf = async (id: string) => (await service.call('GET', `/api/jobs/${id}`)).body.state;

test('a dataset is uploaded, the form filled and a run started', async () => {
  // Asked for early: a busy page handles a key before an interception that was sent first.
  page.once('filechooser', (chooser) => chooser.setFiles(join(root, 'examples', 'support.jsonl')));
  await sees(page, 'Train your own model');
  await keys.press('Tab');
  await keys.isOn(/Skip to content/, 'first');
  await follow(/^a Use your own data/, /\/training$/, /^h1 New training/);

  await keys.reach(/^input Choose a file/);
  await keys.press('Enter');
  await sees(page, '400 rows, all valid');
  await keys.isOn(/^input Choose a file/, 'after an upload');
  await keys.reach(/^select Task/);
  await keys.reach(/^select Model/);
  await keys.choose('Path');
  await keys.reach(/^input owner\/name|Hub ID or folder/);
  await keys.write(tinyModel('llama', 'chatml'));
  await sees(page, 'Model found');
  await keys.reach(/^input Balanced/);
  await keys.press('ArrowLeft');
  await keys.isOn(/^input Quick/, 'after another preset was chosen');

  await keys.reach(/^input Batch size/);
  await keys.write('0');
  await sees(page, 'Batch size must be 1 to 1,024.');
  await keys.write('2');
  await keys.reach(/^button Reset to/);
  await keys.press('Enter');
  await keys.isOn(/Max sequence length/, 'after the value was reset');
  await keys.write('96');
  for (const [fold, field, value] of [
    ['Customize', '', ''],
    ['Method', null, ''],
    ['Basics', 'Gradient accumulation steps', '1'],
  ] as const) {
    await keys.reach(new RegExp(`^summary ${fold}`));
    await keys.press('Enter');
    if (field === null) {
      await keys.reach(/^input SFT/);
      await keys.press('ArrowDown', 'ArrowUp');
      continue;
    }
    if (field === '') continue;
    await keys.reach(new RegExp(`^input ${field}`));
    await keys.write(value);
  }
  await keys.reach(/^input Max steps/);
  await keys.write('40');
  await keys.reach(/^summary Validation and samples/);
  await keys.press('Enter');
  await keys.reach(/^input Sample prompts|^textarea Sample prompts/);
  await keys.write('My parcel has not come.');
  assert.is((await service.call('GET', '/api/jobs')).body.total, 0, 'Enter in a field starts nothing');
  await keys.reach(/^button Start training/);
  await keys.press('Enter');
  await page.waitForURL(/\/training\/train_1$/);
  await keys.isOn(/^h1 /, 'after the start');
});

test('a run is watched until its verdict, and its log and events are read', async () => {
  await keys.reach(/^button Stop…/);
  await keys.press('Enter');
  await keys.isOn(/^button Continue training/, 'in the dialog');
  for (let count = 0; count < 8; count += 1) {
    await keys.press('Tab');
    const stop = await focused(page);
    // The browser's own controls come between the last and the first of a dialog.
    assert.ok(stop === null || /^button (Continue|Stop and save|Discard|Close)/.test(stop.name), stop?.name);
  }
  await keys.press('Escape');
  await keys.isOn(/^button Stop…/, 'after the dialog was left');
  assert.is((await untilEnded(service)).status, 'completed');
  await sees(page, 'File verified');
  // What is still being read would move what has the focus.
  await page.waitForFunction(() => document.querySelector('.skeleton') === null);
  await keys.isOn(/^(a|button) (Try|View|Duplicate)/, 'when Stop is gone');

  await keys.reach(/^summary Checkpoints and file/);
  await keys.press('Enter');
  await keys.reach(/^a Try it/);
  await keys.reach(/^summary Details/);
  await keys.press('Space');
  await sees(page, 'Next-token agreement with the adapter');
  // The steps, and the evaluation of the base model at step 0.
  await keys.reach(/chart of 41 points/);
  await keys.press('ArrowLeft');
  await until(
    async () => (await page.locator('.chart-wide .legend-step dd').textContent()) === '39',
    'the chart is read by keys',
  );
  for (const view of ['Events', 'Log']) {
    await keys.reach(new RegExp(`^a ${view}$`), 'Shift+Tab');
    await keys.press('Enter');
    await page.waitForURL(new RegExp(`view=${view.toLowerCase()}$`));
    await keys.isOn(new RegExp(`^a ${view}$`), 'after the view has changed');
  }
  await keys.reach(/Trainer log/);
});

test('a model is asked, and its answers recalled, edited and deleted', async () => {
  await follow(/^a Try the model/, /\/playground\//, /^h1 Playground/);
  await page.getByLabel('Max new tokens').waitFor();
  await keys.reach(/^input Max new tokens/);
  await keys.write('8');
  await keys.reach(/^textarea Prompt/);
  await keys.write('My parcel has not come.');
  await keys.press('Enter');
  await sees(page, /\d tokens/);
  await keys.isOn(/^textarea Prompt/, 'after an answer');
  await keys.press('ArrowUp');
  await until(
    async () => (await page.locator('#prompt').inputValue()) === 'My parcel has not come.',
    'the prompt is recalled',
  );
  await keys.reach(/^button Regenerate/, 'Shift+Tab');
  await keys.press('Enter');
  await keys.isOn(/^textarea Prompt/, 'after another answer was asked for');
  await page.getByRole('button', { name: 'Regenerate' }).waitFor();
  await keys.reach(/^button Edit$/, 'Shift+Tab');
  await keys.press('Enter');
  await keys.isOn(/^textarea Edited prompt/, 'when a prompt is edited');
  await keys.press('Escape');
  await keys.isOn(/^textarea Prompt/, 'after the edit was left');
  await keys.reach(/^summary More/, 'Shift+Tab');
  await keys.press('Enter');
  await keys.reach(/^button Delete chat/);
  await keys.press('Enter');
  await keys.isOn(/^textarea Prompt/, 'after the chat was deleted');
});

test('a run is named, repeated, compared and deleted', async () => {
  await follow(/^a About this model/, /\/models\//, /^h1 /);
  await follow(/^a train_1$/, /\/training\/train_1$/, /^h1 /);
  await keys.reach(/^button Edit name, tags and notes/);
  await keys.press('Enter');
  await keys.isOn(/^input Name/, 'in the dialog');
  await keys.write('First');
  await keys.reach(/^input Tags/);
  await keys.write('ready, small');
  await keys.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'First' }).waitFor();
  await keys.isOn(/^button Edit name/, 'after the name was saved');

  await follow(/^button Duplicate/, /\/training$/, /^h1 New training/);
  await keys.reach(/^button Dismiss/);
  await keys.press('Enter');
  await keys.isOn(/^(a|select|input|button)/, 'after a note was dismissed');
  await keys.reach(/^button Start training/);
  await keys.press('Enter');
  await page.waitForURL(/\/training\/train_2$/);
  await keys.isOn(/^h1 /, 'after the start');
  assert.is((await untilEnded(service)).status, 'completed');

  await follow(/^a Runs$/, /\/runs$/, /^h1 Runs/);
  for (const id of ['train_2', 'train_1']) {
    await keys.reach(new RegExp(`^input Select ${id}$`));
    await keys.press('Space');
  }
  await sees(page, '2 runs selected');
  await keys.reach(/^button Compare/, 'Shift+Tab');
  await keys.press('Enter');
  await page.waitForURL(/compare\?run=/);
  await keys.isOn(/^h1 Compare/, 'after the page has changed');
  await sees(page, 'Differences');
  await keys.reach(/^button Remove First/);
  await keys.press('Enter');
  await page.getByRole('button', { name: 'Remove First (train_1)' }).waitFor({ state: 'detached' });
  await keys.isOn(/^(select Run to add|button Remove)/, 'after a run was taken out');
  await keys.reach(/^select Run to add/, 'Shift+Tab');
  await keys.press('ArrowDown');
  await keys.isOn(/^select Run to add/, 'after a run was chosen, which adds nothing yet');
  await keys.reach(/^button Add/);
  await keys.press('Enter');
  await page.getByRole('button', { name: 'Remove First (train_1)' }).waitFor();
  await keys.isOn(/^a First/, 'after the last run was added');

  await follow(/^a Runs$/, /\/runs$/, /^h1 Runs/);
  await keys.reach(/^input Select train_2$/);
  await keys.press('Space');
  await keys.reach(/^button Delete…/, 'Shift+Tab');
  await keys.press('Enter');
  await keys.reach(/^button Delete 1 run/);
  await keys.press('Enter');
  await sees(page, '1 run deleted');
  await keys.isOn(/^input Select all shown runs/, 'after the run was deleted');
});

test('a model is evaluated, and the evaluation and the model are deleted', async () => {
  await follow(/^a Models$/, /\/models$/, /^h1 Models/);
  await follow(/^a Evaluations$/, /\/models\/evaluations$/, /^h1 Evaluations/);
  await keys.reach(/^select Dataset/);
  await keys.choose('support.jsonl');
  await keys.reach(/^select Model/);
  await keys.choose('First');
  await keys.reach(/^input Rows/);
  await keys.write('2');
  for (const id of ['eval_1', 'eval_2']) {
    await keys.reach(/^button Evaluate$/);
    await keys.press('Enter');
    await page.getByRole('link', { name: id }).waitFor();
    await keys.isOn(/^button Evaluate$/, 'after the start');
  }
  await until(
    async () => (await service.call('GET', '/api/evaluations/eval_2')).body.state === 'completed',
    'both are scored',
    300_000,
  );
  await follow(/^a eval_1$/, /results\?eval=eval_1$/, /^h1 eval_1/);
  await keys.reach(/^div Table of rows/);
  await follow(/^a Evaluations$/, /\/evaluations$/, /^h1 Evaluations/);
  // The list is without it before the dialog is closed.
  await page.route('**/api/evaluations/eval_2', async (route) => {
    const response = await route.fetch();
    await page.getByRole('link', { name: 'eval_2' }).waitFor({ state: 'detached' });
    await route.fulfill({ response });
  });
  for (const [id, next] of [
    ['eval_2', /eval_1/],
    ['eval_1', /./],
  ] as const) {
    await keys.reach(new RegExp(`^button Delete ${id}`));
    await keys.press('Enter');
    await keys.reach(/^button Delete evaluation/);
    await keys.press('Enter');
    await page.getByRole('link', { name: id }).waitFor({ state: 'detached' });
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keys.isOn(next, `after ${id} was deleted`);
  }

  await follow(/^a Models$/, /\/models$/, /^h1 Models/);
  await keys.reach(/^input Select all/);
  await follow(/^a First/, /\/models\/.+/, /^h1 /);
  await keys.reach(/^button Push to the hub…/);
  await keys.press('Enter');
  await keys.isOn(/^input/, 'in the dialog');
  await keys.press('Escape');
  await keys.isOn(/^button Push to the hub…/, 'after the dialog was left');
  await keys.reach(/^button Delete…/);
  await keys.press('Enter');
  await page.getByRole('dialog').waitFor();
  await keys.reach(/^button Delete model/);
  await keys.press('Enter');
  await page.waitForURL(/\/models$/);
  await keys.isOn(/^h1 Models/, 'after the model was deleted');
  assert.is(await stateOf('train_1'), 'completed');
});

test('every stop showed that it had the focus, and the Tab key leaves every page', async () => {
  assert.equal([...keys.unseen], []);
  for (const path of [
    ...['/', '/training', '/training/runs', '/training/train_1', '/training/compare?run=train_1', '/models'],
    ...['/models/evaluations', '/training/sweeps/new', '/datasets', '/datasets/support.jsonl', '/access'],
  ]) {
    await page.goto(service.url + path);
    await page.locator('h1').first().waitFor();
    await page.waitForFunction(() => document.querySelector('.skeleton') === null);
    const unseen = (await walk(page)).filter(({ isSeen }) => !isSeen);
    assert.equal(unseen, [], path);
  }
  assert.equal(opened.faults, []);
});

test.run();
