/** What a page asks the service for when it is opened: everything once. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Request } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../folders.ts';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  until,
  untilEnded,
} from '../service.ts';
import { closeBrowser, isLive, sees, theBrowser } from './browser.ts';

let service: TestService;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test.before(async () => {
  service = await startService();
  await service.upload('support.jsonl', supportRows());
  await service.call('POST', '/api/start_training', quickRequest());
  assert.is((await untilEnded(service)).status, 'completed');
});

/** When the socket tells the page where things stand: at once, when all else has been answered, or never. */
type Snapshot = 'soon' | 'late' | 'never';

/** How often each address of the service was asked for while a page was opened, and until it asked no more. */
async function asked(path: string, text: string | RegExp, snapshot: Snapshot): Promise<Map<string, number>> {
  const context = await (await theBrowser()).newContext();
  const page = await context.newPage();
  // Time stands still, so that a slow machine does not see what is asked for again every few seconds.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  const counts = new Map<string, number>();
  const held: (() => void)[] = [];
  let isHeld = snapshot === 'late';
  if (snapshot !== 'soon')
    await page.routeWebSocket('**/ws/training?*', (socket) => {
      if (snapshot === 'never') return socket.close();
      socket.connectToServer().onMessage((frames) => {
        if (isHeld) held.push(() => socket.send(frames));
        else socket.send(frames);
      });
    });
  /** What has not been answered yet. */
  const open = new Set<Request>();
  page.on('request', (request) => {
    open.add(request);
    const { pathname, searchParams } = new URL(request.url());
    // The chats of a model, and those of deleted ones, are two lists.
    const name = searchParams.has('model_deleted') ? `${pathname} of deleted models` : pathname;
    if (pathname.startsWith('/api/')) counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  page.on('requestfinished', (request) => open.delete(request));
  page.on('requestfailed', (request) => open.delete(request));
  await page.goto(service.url + path);
  if (snapshot === 'late') {
    await page.waitForLoadState('networkidle');
    await until(() => held.length > 0, 'the snapshot has come');
    isHeld = false;
    for (const send of held) send();
  }
  if (snapshot !== 'never') await isLive(page);
  // The lists are asked for a second time, if they are, when a moment has passed without the socket.
  await page.clock.runFor(1_500);
  const shown = page.getByText(text).first();
  await until(async () => {
    if (open.size > 0) return false;
    // Answers are drawn a few times in a second.
    await page.clock.runFor(50);
    return shown.isVisible();
  }, `${text} is on ${path}`);
  await page.waitForLoadState('networkidle');
  await context.close();
  return counts;
}

// Pages that do not show the list of models do not read it.
for (const [path, text, models] of [
  ['/', 'Recent runs', 1],
  ['/training', 'Customize', 0],
  ['/training/runs', '1 of 1', 0],
  ['/training/train_1', 'Try it', 1],
  ['/playground', 'Max new tokens', 1],
  ['/models', '1 of 1', 1],
] as const) {
  for (const snapshot of ['soon', 'late'] as const)
    test(`${path} asks for everything once, with a snapshot that comes ${snapshot}`, async () => {
      const counts = await asked(path, text, snapshot);
      assert.is(counts.get('/api/jobs'), 1, 'the list of jobs');
      assert.is(counts.get('/api/catalog') ?? 0, models, 'the list of models');
      const twice = [...counts].filter(([, count]) => count > 1).map(([name, count]) => `${name}: ${count}`);
      assert.equal(twice, []);
    });
}

test('without a socket the lists are read all the same', async () => {
  const counts = await asked('/models', '1 of 1', 'never');
  assert.ok((counts.get('/api/catalog') ?? 0) >= 1);
});

test('the files of the first view take at most 140 kB, which leaves 10 for the answers of the service', () => {
  const folder = join(root, 'dist', 'ui');
  const index = readFileSync(join(folder, 'index.html'), 'utf8');
  const files = [...index.matchAll(/(?:href|src)="\/([^"]+\.(?:js|css))"/g)].map(
    ([, name]) => name as string,
  );
  assert.ok(files.includes('main.js') && files.includes('main.css'), `${files}`);
  const bytes = files.map((name) => statSync(join(folder, `${name}.br`)).size);
  const sum = bytes.reduce((all, one) => all + one, 0);
  assert.ok(sum <= 140_000, `${sum}: read a page when it is first opened, as ui/later-pages.ts does`);
});

test('a page that cannot be loaded says so', async () => {
  const context = await (await theBrowser()).newContext();
  const page = await context.newPage();
  await page.route(/later-pages-\w+\.js$/, (route) => route.fulfill({ status: 404 }));
  await page.goto(`${service.url}/`);
  await isLive(page);
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.getByRole('link', { name: 'Graders', exact: true }).click();
  await sees(page, 'This page could not be loaded. Reload the window to try again.');
  await page.unrouteAll();
  await page.reload();
  await page.getByRole('heading', { name: 'Graders', level: 1 }).waitFor();
  await context.close();
});

test.run();
