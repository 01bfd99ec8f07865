/**
 * Makes the pictures in the README from a real run: `node --import tsx test/ui/pictures.ts [NAME…]`, all of them without
 * a name. It needs the starter model, which `npm run demo` makes. It writes to `ui/pictures/`.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { root, startService, temporaryFolder, until, untilEnded } from '../service.ts';
import { closeBrowser, openFold, sees, theBrowser, typeModel } from './browser.ts';

const scale = 1.5;
const prompts = [
  'Good evening, please delete my subscription.',
  'My bank says that you took the same fee two times in one day.',
  'Our company needs a receipt with its name on it for the tax office.',
];

const names = process.argv.slice(2);
const isWanted = (name: string) => names.length === 0 || names.includes(name);

const service = await startService();

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
  const { examples } = (await service.call('GET', '/api/examples')).body;
  const starter = examples[0].model_name;
  if (!starter.includes('starter')) throw new Error('There is no starter model: run `npm run demo` first.');
  // The page shows a local model by the last part of its path.
  const model = join(temporaryFolder(), 'hone-starter');
  cpSync(starter, model, { recursive: true });
  await service.call('POST', '/api/examples/support');
  if (isWanted('training')) {
    const training = await open('/training', 'light', 860);
    await typeModel(training, model);
    await training.getByLabel('Dataset', { exact: true }).selectOption('support.jsonl');
    await training.getByLabel('Batch size', { exact: true }).fill('8');
    await openFold(training, 'More essentials');
    await training.getByLabel('Gradient accumulation steps').fill('1');
    await openFold(training, 'More essentials');
    await openFold(training, 'Token preview');
    await training.getByRole('button', { name: 'Show tokens' }).click();
    await training.locator('.token').nth(9).waitFor({ timeout: 120_000 });
    await sees(training, 'Memory breakdown');
    await keep(training, 'training');
  }
  if (isWanted('dashboard') || isWanted('playground')) {
    const { status, body } = await service.call('POST', '/api/start_training', {
      ...examples[0].settings,
      task: 'text-generation',
      model_name: model,
      dataset: 'support.jsonl',
      num_train_epochs: 12,
      eval_steps: 40,
    });
    if (status !== 200) throw new Error(JSON.stringify(body));

    const dashboard = await open('/', 'dark', 834);
    await until(
      async () => (await service.call('GET', '/api/training_status')).body.current_step >= 330,
      'most steps are done',
      300_000,
    );
    await keep(dashboard, 'dashboard');
    await untilEnded(service);

    const [{ model_id }] = (await service.call('GET', '/api/models/')).body;
    const playground = await open(`/playground/${model_id}`, 'light', 810);
    await playground.getByLabel('Compare side by side').check();
    await playground.getByLabel('Temperature').fill('0.3');
    // The first answer waits for the model to load.
    await service.call('POST', '/api/playground/new', { model_id, prompt: 'Hello', max_length: 1 });
    for (const [index, prompt] of prompts.entries()) {
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
    await keep(playground, 'playground');
  }
} finally {
  await closeBrowser();
  await service.end();
}
