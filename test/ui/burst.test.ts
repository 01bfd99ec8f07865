/** A run of ten thousand steps a second: the page keeps its socket, and its chart ends at the last step. */
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { letGo, littleInstallation } from '../jobs/little-installation.ts';
import { endAll, startService, supportRows, type TestService, tinyModel, until } from '../service.ts';
import { closeBrowser, openPage, sees } from './browser.ts';

const steps = 50_000;
/** More than may wait in a socket. */
const whileStill = 20_000;

let service: TestService;
const lastStep = async (): Promise<number> =>
  (await service.call('GET', '/api/jobs/train_1')).body.last_metric?.step ?? 0;

test.before(async () => {
  service = await startService({ env: littleInstallation('burst') });
  await service.upload('support.jsonl', supportRows());
  const { status, body } = await service.call('POST', '/api/start_training', {
    ...{ task: 'text-generation', model_name: tinyModel('llama'), dataset: 'support.jsonl' },
    ...{ max_steps: steps, export: 'none' },
  });
  assert.is(status, 200, JSON.stringify(body));
  await until(async () => (await lastStep()) === 1, 'it has begun', 300_000);
});
test.after(async () => {
  await service.call('POST', '/api/stop_training');
  await closeBrowser();
  await endAll();
});

test('a page that stands still for a while keeps its socket, and its chart ends at the last step', async () => {
  const { page, context, faults } = await openPage(service.url, '/nowhere');
  let sockets = 0;
  let messages = 0;
  page.on('websocket', (socket) => {
    sockets += 1;
    socket.on('framereceived', () => {
      messages += 1;
    });
  });
  await page.goto(`${service.url}/training/train_1`);
  await sees(page, `of ${steps.toLocaleString('en')}`);
  const opened = sockets;
  const debugging = await context.newCDPSession(page);
  await debugging.send('Debugger.enable');
  const paused = new Promise((resolve) => debugging.once('Debugger.paused', resolve));
  await debugging.send('Debugger.pause');
  letGo(join(service.dataDir, 'jobs', 'train_1'));
  await paused;
  await until(async () => (await lastStep()) > whileStill, 'the run goes on', 300_000);
  await debugging.send('Debugger.resume');
  await debugging.send('Debugger.disable');
  await page.getByLabel(`Loss: chart of ${steps} points`).waitFor();
  await sees(page, `${steps.toLocaleString('en')} of ${steps.toLocaleString('en')}`);
  assert.is(sockets, opened, 'it was not reopened');
  assert.ok(messages < steps / 10, `${messages} messages`);
  assert.equal(faults, []);
});

test.run();
