/**
 * Makes the pictures in the README from a run of a real model, SmolLM2-135M-Instruct, on the demo's task of dates:
 * `node --import tsx test/ui/pictures.ts [NAME…]`, all of them without a name. It writes to `ui/pictures/`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { settingsForDates } from '../../src/demo/settings.ts';
import { datesTask } from '../../src/demo/task.ts';
import { layOutLmStudio } from '../gguf-caches.ts';
import { realModel } from '../real/real-model.ts';
import { realModelMs, root, startService, temporaryFolder, until, untilEnded } from '../service.ts';
import { closeBrowser, sees, theBrowser } from './browser.ts';

const scale = 1.5;
const { file, questions } = datesTask(root);
const prompts = questions.slice(0, 3).map(({ prompt }) => prompt);

const names = process.argv.slice(2);
const isWanted = (name: string) => names.length === 0 || names.includes(name);

// A home of its own: the page shows a short path, and no other models of this machine.
const home = temporaryFolder();
const service = await startService({
  env: { HOME: home, XDG_CACHE_HOME: join(home, '.cache'), HF_HOME: join(home, 'huggingface') },
});

async function open(path: string, colorScheme: 'light' | 'dark', height: number): Promise<Page> {
  const browser = await theBrowser();
  const context = await browser.newContext({
    viewport: { width: 1280, height },
    deviceScaleFactor: scale,
    colorScheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(service.url + path);
  return page;
}

const keep = (page: Page, name: string) =>
  page.screenshot({ path: join(root, 'ui', 'pictures', `${name}.png`) });

try {
  const model = layOutLmStudio(home, await realModel('smollm2'), 'HuggingFaceTB/SmolLM2-135M-Instruct-GGUF');
  await service.upload(file, readFileSync(join(root, 'examples', file)));
  if (['dashboard', 'run', 'playground'].some(isWanted)) {
    const { status, body } = await service.call('POST', '/api/start_training', {
      ...settingsForDates,
      task: 'text-generation',
      model_name: model,
      dataset: file,
      eval_split: 0.1,
      eval_steps: 20,
      golden_prompts: prompts,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));

    const dashboard = await open('/', 'dark', 834);
    await until(
      async () => (await service.call('GET', '/api/training_status')).body.current_step >= 110,
      'most steps are done',
      realModelMs,
    );
    await keep(dashboard, 'dashboard');
    await untilEnded(service, realModelMs);
  }
  if (isWanted('run')) {
    const run = await open('/training/train_1', 'light', 860);
    await run.locator('.verdict-prompt').nth(2).waitFor();
    // Until the names are read, it is called by its key.
    await run.getByText('Text generation on dates.jsonl').waitFor();
    await keep(run, 'run');
  }
  if (isWanted('playground')) {
    const [{ model_id }] = (await service.call('GET', '/api/models/')).body;
    const playground = await open(`/playground/${model_id}`, 'light', 1150);
    await playground.getByRole('link', { name: 'Compare', exact: true }).click();
    await playground.getByLabel('Temperature').fill('0');
    // The base model would go on for long.
    await playground.getByLabel('Max new tokens').fill('20');
    // The first answer waits for the model to load.
    await service.call('POST', '/api/playground/new', { model_id, prompt: 'Hello', max_length: 1 });
    for (const [index, prompt] of prompts.slice(1).entries()) {
      await playground.getByLabel('Prompt', { exact: true }).fill(prompt);
      await playground.getByLabel('Prompt', { exact: true }).press('Enter');
      await until(
        async () => (await playground.getByText(/\d tokens ·/).count()) === 2 * (index + 1),
        'both answers are complete',
        60_000,
      );
    }
    await playground.getByLabel('Prompt', { exact: true }).fill('');
    await playground.getByLabel('Prompt', { exact: true }).blur();
    await playground.evaluate(() => scrollTo(0, 0));
    await keep(playground, 'playground');
  }
  // The last one: after a run of the same model, the form tells how long another will take.
  if (isWanted('training')) {
    const training = await open('/training', 'light', 870);
    await training.getByLabel('Dataset', { exact: true }).selectOption(file);
    await training.getByLabel('Model', { exact: true }).selectOption(model);
    await sees(training, 'Model found');
    await sees(training, 'Memory breakdown');
    await training.evaluate(() => scrollTo(0, 0));
    await keep(training, 'training');
  }
} finally {
  await closeBrowser();
  await service.end();
}
