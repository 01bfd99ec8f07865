/** A training with a teacher from the page: it is chosen from a list, and the run shows how near the student comes. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, supportRows, type TestService, tinyModel, untilEnded } from '../service.ts';
import { closeBrowser, keepPictures, openGroup, openPage, sees, typeModel } from './browser.ts';

let service: TestService;

test.before(async () => {
  service = await startService({ warm: true });
  await service.upload('support.jsonl', supportRows());
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('a model is taught by another one that is chosen from a list', async () => {
  const base = tinyModel('llama', 'chatml');
  await service.call('POST', '/api/start_training', {
    task: 'text-generation',
    model_name: base,
    dataset: 'support.jsonl',
    max_steps: 2,
    max_seq_length: 96,
    export: 'none',
  });
  assert.is((await untilEnded(service)).status, 'completed');
  const [teacher] = (await service.call('GET', '/api/catalog')).body.models;
  const { page, context, faults } = await openPage(service.url, '/training');
  await page.getByLabel('Dataset', { exact: true }).selectOption('support.jsonl');
  await typeModel(page, base);
  await openGroup(page, 'Method');
  await page.getByRole('radio', { name: 'Distillation' }).check();
  const named = page.getByLabel('Teacher', { exact: true });
  const list = page.getByLabel('Models that may teach');
  await list.waitFor();
  await list.selectOption(teacher.name);
  assert.is(await named.inputValue(), teacher.name);
  await page.getByText('Disk breakdown').click();
  await sees(page, 'Teacher’s answers');
  await openGroup(page, 'Basics');
  await page.getByLabel('Max steps').fill('3');
  await keepPictures(page, 'distill-form');
  const [started] = await Promise.all([
    page.waitForResponse((answer) => answer.url().endsWith('start_training')),
    page.getByRole('button', { name: /Start training|Add to the queue/ }).click(),
  ]);
  const { strategy, teacher: sent } = started.request().postDataJSON();
  assert.equal([strategy, sent], ['distill', teacher.name]);
  assert.is((await untilEnded(service)).status, 'completed');
  await sees(page, 'Divergence from the teacher');
  await keepPictures(page, 'distill-run');
  assert.equal(faults, []);
  await context.close();
});

test.run();
