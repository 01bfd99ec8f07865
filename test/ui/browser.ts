import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { root, until } from '../service.ts';

export type Theme = 'light' | 'dark';

/** How long a test waits for what usually takes a second: the machine may be busy. */
const patienceMs = 120_000;

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome.exe'];
const places = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** The browser that set-up found or installed. @throws Error that says how to get one. */
function chromiumPath(): string {
  if (process.env.HONE_CHROMIUM) return process.env.HONE_CHROMIUM;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...places].find(
    (path) => existsSync(path),
  );
  if (found === undefined) throw new Error('There is no Chromium; install one, or name it in HONE_CHROMIUM.');
  return found;
}

/** A page of the service in a real browser, with all that it must not do noted. */
export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings of the console, exceptions, and requests to any other host. */
  readonly faults: string[];
}

let browser: Browser | null = null;

/** The one browser of this process, started on first use. */
export async function theBrowser(): Promise<Browser> {
  browser ??= await chromium.launch({
    executablePath: chromiumPath(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Names of other sites, for tests of what their pages can do.
      '--host-resolver-rules=MAP *.example 127.0.0.1',
    ],
  });
  return browser;
}

/** Opens a page; what it asks of others than `url` is refused and noted. */
export async function openPage(
  url: string,
  path: string,
  options: { theme?: Theme; width?: number; height?: number } = {},
): Promise<OpenPage> {
  const context = await (await theBrowser()).newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    colorScheme: options.theme ?? 'light',
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const faults: string[] = [];
  await context.route('**/*', (route) => {
    const asked = new URL(route.request().url());
    // A saved file is opened without the service.
    const isLocal = ['data:', 'blob:', 'file:'].includes(asked.protocol);
    if (isLocal || asked.host === new URL(url).host) {
      return route.continue();
    }
    faults.push(`a request to ${asked.href}`);
    return route.abort();
  });
  page.on('pageerror', (error) => faults.push(`an exception: ${error.message}`));
  page.on('dialog', (dialog) => {
    faults.push('a script of a name or a text ran');
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // A refused or lost request is logged by the browser itself; what the page makes of it is tested.
    const own = !/Failed to load resource|WebSocket connection to/.test(message.text());
    if (own && (message.type() === 'error' || message.type() === 'warning')) faults.push(message.text());
  });
  await page.goto(url + path);
  return { page, context, faults };
}

/**
 * Adds up the layout shifts of a page from now on, without those that follow the user's own input.
 * @returns what they add up to so far (https://web.dev/articles/cls), and the texts of what moved most.
 */
export async function layoutShiftOf(page: Page): Promise<() => Promise<{ shift: number; moved: string }>> {
  interface Shift extends PerformanceEntry {
    readonly value: number;
    readonly hadRecentInput: boolean;
    readonly sources: readonly { readonly node: Element | Text | null }[];
  }
  await page.evaluate(() => {
    const seen = { shift: 0, moved: [] as string[] };
    Object.assign(globalThis, { seen });
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput, sources } of list.getEntries() as Shift[]) {
        if (hadRecentInput) continue;
        seen.shift += value;
        const texts = sources.map(({ node }) =>
          (node?.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 60),
        );
        seen.moved.push(`${value.toFixed(3)}: ${texts.join(' | ')}`);
      }
    }).observe({ type: 'layout-shift' });
  });
  return () =>
    page.evaluate(() => {
      const { seen } = globalThis as unknown as { seen: { shift: number; moved: string[] } };
      return { shift: seen.shift, moved: seen.moved.sort().reverse().slice(0, 9).join('\n') };
    });
}

/** The requests of a page that were answered with an error, from now on. */
export function failuresOf(page: Page): string[] {
  const failed: string[] = [];
  page.on('response', (response) => {
    if (response.status() >= 400) failed.push(`${response.status()} ${new URL(response.url()).pathname}`);
  });
  return failed;
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = null;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of axe that depend on colors. */
export const colorRules = ['color-contrast', 'link-in-text-block'];

/**
 * What axe finds wrong with a page by WCAG 2.0 to 2.2, levels A and AA, and best practices; a line for each rule.
 * @param rules the only ones to be checked.
 */
export async function axeViolations(
  page: Page,
  rules: readonly string[] = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async (runOnly) => {
    // biome-ignore lint/suspicious/noExplicitAny: axe puts itself into the page
    const { violations } = await (globalThis as any).axe.run(document, { runOnly });
    return violations.map(
      (violation: { id: string; nodes: { html: string }[] }) =>
        `${violation.id}: ${violation.nodes[0]?.html.slice(0, 200)}`,
    );
  }, rules as string[]);
}

/**
 * Gives the window another width, and waits until the page is drawn in it: charts follow their place in the frame
 * after its layout.
 */
export async function setWidth(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  );
}

/** By how many pixels a page is wider than its window. */
export const sidewaysPixels = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

const keepsPictures = process.env.HONE_SCREENSHOTS === '1';

/** With HONE_SCREENSHOTS=1, keeps a picture of the page in `build/screenshots`. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (!keepsPictures) return;
  const folder = join(root, 'build', 'screenshots');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** With HONE_SCREENSHOTS=1, keeps a wide and a narrow picture of the page as it is now. */
export async function keepPictures(page: Page, name: string): Promise<void> {
  if (!keepsPictures) return;
  for (const width of [360, 1280]) {
    await setWidth(page, width);
    await page.evaluate(() => scrollTo(0, 0));
    await keepPicture(page, `${name}-${width}`);
  }
}

/** Chooses a base model in the form of a training by its hub ID or folder. */
export async function typeModel(page: Page, name: string): Promise<void> {
  await page.getByLabel('Model', { exact: true }).selectOption('Path or hub ID…');
  await page.getByLabel('Hub ID or folder').fill(name);
}

/** Waits until the form of a training has chosen a dataset. */
export const hasDataset = (page: Page, name: string) =>
  page
    .locator('#dataset option:checked')
    .and(page.locator(`[value="${name}"]`))
    .waitFor({ state: 'attached' });

/** Opens a collapsed part of a page. */
export const openFold = (page: Page, name: string | RegExp) =>
  page.locator('summary', { hasText: name }).first().click();

/** Opens a group of settings in the form of a training. */
export async function openGroup(page: Page, name: string): Promise<void> {
  const groups = page
    .locator('.customize .fold')
    .filter({ has: page.locator(':scope > summary', { hasText: name }) });
  await groups.first().waitFor({ state: 'attached' });
  for (const details of [page.locator('.customize'), groups.first()])
    await until(async () => {
      const isOpen = async () => (await details.getAttribute('open')) !== null;
      // What is still loading above it may move it between the press and the release of a click.
      if (!(await isOpen())) await details.locator(':scope > summary').click();
      return isOpen();
    }, `${name} is open`);
}

/** Waits until the page hears of changes: it may show a record before, and reads what it has missed by then anew. */
export const isLive = (page: Page): Promise<void> => page.locator('.connection[data-state="live"]').waitFor();

/** Waits until the page has read the answers that have arrived, and drawn what follows from them. */
export const settled = (page: Page): Promise<unknown> =>
  page.evaluate(async () => {
    await (await fetch('/')).text();
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  });

/** Waits until the page shows a text. @throws Error that says what it shows instead. */
export async function sees(page: Page, text: string | RegExp): Promise<void> {
  try {
    await page.getByText(text).first().waitFor({ timeout: patienceMs });
  } catch (cause) {
    const shown = await page.locator('main').textContent({ timeout: 1_000 }).catch(String);
    throw new Error(`"${text}" is not on ${page.url()}, which shows: ${shown}`, { cause });
  }
}
