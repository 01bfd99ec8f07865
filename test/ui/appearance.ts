import type { Page } from 'playwright-core';
import type { TestService } from '../service.ts';
import {
  axeViolations,
  colorRules,
  keepPicture,
  openPage,
  sees,
  setWidth,
  sidewaysPixels,
} from './browser.ts';

const widths = [1440, 1280, 640, 360, 320];
const pictured = [1280, 360];

/**
 * What is wrong with a page as it is now, in both themes: what axe finds, and the widths at which it scrolls sideways.
 * Keeps pictures of it.
 */
export async function appearanceFaults(page: Page, name: string): Promise<string[]> {
  const found: string[] = [];
  const { width: own = 1280 } = page.viewportSize() ?? {};
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // Charts are drawn again in the next frame.
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    // The schemes differ in colors alone, which change no widths.
    for (const width of colorScheme === 'light' ? widths : pictured) {
      await setWidth(page, width);
      const wide = await sidewaysPixels(page);
      if (wide > 0) found.push(`${name} at ${width} is ${wide} px too wide`);
      if (pictured.includes(width)) await keepPicture(page, `${name}-${colorScheme}-${width}`);
    }
    await setWidth(page, own);
    const violations = await axeViolations(page, colorScheme === 'light' ? undefined : colorRules);
    found.push(...violations.map((violation) => `${name} in ${colorScheme}: ${violation}`));
  }
  return found;
}

/** A page to look at, and what it shows when it is loaded. */
export interface LookedAt {
  readonly name: string;
  readonly path: string;
  readonly text: string | RegExp;
}

/** What is wrong with pages of a service, as `appearanceFaults`, and what the browser reports. */
export async function pageFaults(service: TestService, pages: readonly LookedAt[]): Promise<string[]> {
  const found: string[] = [];
  const { page, context, faults } = await openPage(service.url, '/');
  for (const { name, path, text } of pages) {
    await page.goto(service.url + path);
    await sees(page, text);
    // Whatever is still being read is there before a picture is taken.
    await page.waitForFunction(() => document.querySelector('.skeleton') === null);
    found.push(...(await appearanceFaults(page, name)));
    await setWidth(page, 360);
    // What a narrow table has scrolled away in part counts as too small.
    const narrow = (await axeViolations(page)).filter((violation) => !violation.startsWith('target-size'));
    found.push(...narrow.map((violation) => `${name} at 360: ${violation}`));
    await setWidth(page, 1280);
  }
  await context.close();
  return [...found, ...faults];
}
