import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { theBrowser } from '../../test/ui/browser.ts';
import { storeMany } from '../../test/ui/many.ts';
import { framesPerSecond } from './frames.ts';
import type { Size } from './scenario.ts';
import { startHone } from './server.ts';

/** The runs and models of the lists, and how many of them have a nine in their names. */
const amounts: Readonly<Record<Size, { rows: number; nines: number; presses: number }>> = {
  full: { rows: 10_000, nines: 3_439, presses: 5 },
  quick: { rows: 10_000, nines: 3_439, presses: 5 },
  test: { rows: 1_000, nines: 271, presses: 1 },
};

const lists = [
  { path: '/training/runs', field: 'Search runs', count: (some: string) => `50 of ${some}` },
  { path: '/models', field: 'Search models', count: (some: string, all: string) => `${some} of ${all}` },
] as const;

/** Presses a key, and measures the milliseconds until a part of the page shows a text and has drawn it. */
async function press(page: Page, key: string, text: string, part = 'main'): Promise<number> {
  await page.evaluate(() =>
    addEventListener('keydown', () => Object.assign(globalThis, { pressedAt: performance.now() }), {
      once: true,
      capture: true,
    }),
  );
  const drawn = page.waitForFunction(
    ([wanted, within]) => {
      const at = (globalThis as { pressedAt?: number }).pressedAt;
      const seen = document.querySelector(within)?.textContent?.replace(/\s+/g, ' ');
      return at !== undefined && seen?.includes(wanted) && performance.now() - at;
    },
    [text, part] as const,
    { polling: 'raf' },
  );
  await page.keyboard.press(key);
  const milliseconds = (await (await drawn).jsonValue()) as number;
  await page.evaluate(() => Object.assign(globalThis, { pressedAt: undefined }));
  return milliseconds;
}

/**
 * Frames per second while a list is scrolled to and fro by the wheel, and ordered by its first heading every half second.
 * The rows that are drawn grow while one scrolls.
 */
async function scrolledFrames(page: Page, forMs: number): Promise<number> {
  await page.mouse.move(640, 600);
  const frames = framesPerSecond(page, forMs);
  const until = performance.now() + forMs;
  for (let turn = 1; performance.now() < until; turn += 1) {
    await page.mouse.wheel(0, turn % 40 < 30 ? 300 : -600);
    if (turn % 20 === 0)
      await page
        .locator('thead button.sort')
        .first()
        .evaluate((button: HTMLElement) => button.click());
    await sleep(25);
  }
  return await frames;
}

/**
 * Searches the lists of runs and of models by one key, and deletes it again; scrolls and orders them; opens the palette
 * over all models.
 * @returns the longest times from a press to what it draws, in milliseconds, and the fewest frames per second.
 */
export async function longLists(
  dir: string,
  number: number,
  size: Size,
  watchMs: number,
): Promise<{ search: number; palette: number; scrolled: number }> {
  const { rows, nines, presses } = amounts[size];
  const dataDir = join(dir, `lists-${number}`);
  mkdirSync(dataDir);
  await (await startHone(dataDir)).end();
  storeMany(dataDir, { runs: rows, models: rows, steps: 1 });
  const server = await startHone(dataDir);
  const context = await (await theBrowser()).newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const [some, all] = [nines, rows].map((value) => value.toLocaleString('en')) as [string, string];
  let longest = 0;
  let palette = 0;
  let scrolled = Number.POSITIVE_INFINITY;
  try {
    for (const { path, field, count } of lists) {
      await page.goto(server.url + path);
      await page.getByText(count(all, all)).waitFor();
      await page.getByLabel(field).focus();
      for (let turn = 0; turn < presses; turn += 1) {
        longest = Math.max(longest, await press(page, '9', count(some, all)));
        longest = Math.max(longest, await press(page, 'Backspace', count(all, all)));
      }
      scrolled = Math.min(scrolled, await scrolledFrames(page, watchMs));
    }
    for (let turn = 0; turn < presses; turn += 1) {
      palette = Math.max(palette, await press(page, 'Control+k', 'the first 50 are shown', '.palette'));
      await page.keyboard.press('Escape');
      await page.locator('.palette').waitFor({ state: 'detached' });
    }
  } finally {
    await context.close();
    await server.end();
  }
  return { search: longest, palette, scrolled };
}
