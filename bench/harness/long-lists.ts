import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { theBrowser } from '../../test/ui/browser.ts';
import { storeMany } from '../../test/ui/many.ts';
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
 * Searches the lists of runs and of models by one key, and deletes it again; opens the palette over all models.
 * @returns the longest times from a press to what it draws, in milliseconds.
 */
export async function longestSearch(
  dir: string,
  number: number,
  size: Size,
): Promise<{ search: number; palette: number }> {
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
  try {
    for (const { path, field, count } of lists) {
      await page.goto(server.url + path);
      await page.getByText(count(all, all)).waitFor();
      await page.getByLabel(field).focus();
      for (let turn = 0; turn < presses; turn += 1) {
        longest = Math.max(longest, await press(page, '9', count(some, all)));
        longest = Math.max(longest, await press(page, 'Backspace', count(all, all)));
      }
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
  return { search: longest, palette };
}
