import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import { supportRows, tinyModel } from '../test/service.ts';
import { closeBrowser, theBrowser } from '../test/ui/browser.ts';
import { framesPerSecond } from './harness/frames.ts';
import { longLists } from './harness/long-lists.ts';
import { programs, root } from './harness/places.ts';
import type { Scenario, Size } from './harness/scenario.ts';
import { startHone } from './harness/server.ts';

/*
 * Performance of the page, in Chromium with the real service. The trainer is a program that only writes its journal
 * (programs/page-trainer.mjs). Measured: a first view with empty caches, layout shifts while pages load, the page of a
 * run of 100,000 steps with ten more per second, memory after an hour of such frames, the rows of lists of 10,000
 * after a press of a key in their search, the frames while they are scrolled and ordered, and the palette.
 */

/** The number of existing steps, and of frames in the simulated hour (10 per second). */
const amounts: Readonly<Record<Size, { points: number; hour: number; watchMs: number }>> = {
  full: { points: 100_000, hour: 36_000, watchMs: 8_000 },
  quick: { points: 100_000, hour: 36_000, watchMs: 4_000 },
  test: { points: 2_000, hour: 500, watchMs: 500 },
};
const perSecond = 10;

/** A copy of the installation whose Python is the bench's trainer. */
function installation(dir: string, size: Size): NodeJS.ProcessEnv {
  const folder = join(dir, 'installation');
  const python = join(folder, 'trainer', '.venv', 'bin', 'python');
  if (!existsSync(python)) {
    mkdirSync(join(folder, 'trainer', '.venv', 'bin'), { recursive: true });
    for (const name of ['dist', 'src', 'build', 'node_modules', 'examples']) {
      symlinkSync(join(root, name), join(folder, name));
    }
    const trainer = join(programs, 'page-trainer.mjs');
    writeFileSync(python, `#!/bin/sh\nexec "${process.execPath}" "${trainer}" "$@"\n`);
    chmodSync(python, 0o755);
  }
  const { points, hour } = amounts[size];
  return {
    HONE_INSTALL_DIR: folder,
    HONE_TEST_REAL_ROOT: root,
    HONE_TEST_PAGE: JSON.stringify({ points, hour, perSecond }),
  };
}

/** Sends a request to the service. @throws when it does not succeed. */
async function call(url: string, method: string, path: string, body?: unknown) {
  const response = await fetch(url + path, {
    method,
    headers: {
      connection: 'close',
      ...(body instanceof FormData || !body ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** Starts the endless run, and waits for its first steps. @returns its folder. */
async function startRun(url: string, dataDir: string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([supportRows()]), 'support.jsonl');
  await call(url, 'POST', '/api/upload_dataset', form);
  await call(url, 'POST', '/api/start_training', {
    task: 'text-generation',
    model_name: tinyModel('llama'),
    dataset: 'support.jsonl',
    export: 'none',
  });
  while (((await call(url, 'GET', '/api/jobs/train_1')).last_metric?.step ?? 0) < 2) await sleep(100);
  return join(dataDir, 'jobs', 'train_1');
}

/** A page with empty caches, and its DevTools session. */
async function freshPage(width = 1280): Promise<{ page: Page; cdp: CDPSession; close(): Promise<void> }> {
  const context = await (await theBrowser()).newContext({ viewport: { width, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const seen = { shift: 0, busyUntil: 0 };
    Object.assign(globalThis, { seen });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & {
        value: number;
        hadRecentInput: boolean;
      })[]) {
        if (!entry.hadRecentInput) seen.shift += entry.value;
      }
    }).observe({ type: 'layout-shift', buffered: true });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        seen.busyUntil = Math.max(seen.busyUntil, entry.startTime + entry.duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  return { page, cdp: await context.newCDPSession(page), close: () => context.close() };
}

/** Bytes transferred for a first view, and when it was usable: everything visible, and no long task running. */
async function firstView(url: string): Promise<{ kilobytes: number; milliseconds: number }> {
  const { page, cdp, close } = await freshPage();
  await cdp.send('Network.enable');
  let bytes = 0;
  cdp.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(url);
  // What a new user waits for: the first button, and the machine's figures.
  const shown = await page.waitForFunction(
    () =>
      document.querySelector('.welcome button.primary') !== null &&
      document.querySelector('.machine .facts') !== null &&
      document.querySelector('.connection[data-state="live"]') !== null &&
      performance.now(),
    undefined,
    { polling: 'raf' },
  );
  const shownMs = (await shown.jsonValue()) as number;
  await sleep(1_000);
  const busyUntil = await page.evaluate((until) => {
    const { busyUntil } = (globalThis as unknown as { seen: { busyUntil: number } }).seen;
    // A long task that started after everything was visible does not belong to the first view.
    return busyUntil < until + 200 ? busyUntil : until;
  }, shownMs);
  await close();
  return { kilobytes: bytes / 1000, milliseconds: Math.max(shownMs, busyUntil) };
}

/** The largest cumulative layout shift of any page while it loads. */
async function largestShift(url: string, size: Size): Promise<number> {
  const all = ['/', '/training', '/training/train_1', '/training/runs', '/playground', '/models'];
  const shiftOf = async (path: string, width: number) => {
    const { page, close } = await freshPage(width);
    await page.goto(url + path);
    await page.locator('main h1').waitFor();
    await sleep(1_500);
    const shift = await page.evaluate(
      () => (globalThis as unknown as { seen: { shift: number } }).seen.shift,
    );
    await close();
    return shift;
  };
  let largest = 0;
  for (const width of size === 'test' ? [360] : [1280, 360]) {
    const paths = size === 'test' ? all.slice(0, 3) : all;
    largest = Math.max(largest, ...(await Promise.all(paths.map((path) => shiftOf(path, width)))));
  }
  return largest;
}

/** The heap in use after garbage collection. */
async function heapMegabytes(cdp: CDPSession): Promise<number> {
  for (let round = 0; round < 3; round += 1) await cdp.send('HeapProfiler.collectGarbage');
  return (await cdp.send('Runtime.getHeapUsage')).usedSize / 1e6;
}

export const scenario: Scenario = {
  name: 'page',
  about: 'The page in Chromium: first view, layout shift, a chart of 100,000 steps, an hour of frames',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  sides: [
    {
      name: 'hone',
      about: 'the built page, served by the real service',
      async trial({ size, dir, number }) {
        const { points, hour, watchMs } = amounts[size];
        const dataDir = join(dir, `data-${number}`);
        mkdirSync(dataDir);
        const server = await startHone(dataDir, { env: installation(dir, size) });
        try {
          // The browser's own start page is excluded; the median of three loads counts.
          const views = [
            await firstView(server.url),
            await firstView(server.url),
            await firstView(server.url),
          ];
          const kilobytes = Math.max(...views.map((view) => view.kilobytes));
          const [, milliseconds = 0] = views.map((view) => view.milliseconds).sort((a, b) => a - b);
          const folder = await startRun(server.url, dataDir);
          const shift = await largestShift(server.url, size);

          const { page, cdp, close } = await freshPage();
          await page.goto(`${server.url}/training/train_1`);
          await page.locator('.chart-wide .chart-area').waitFor();
          /** The number of points that the chart reports; the page's text if there is no chart. */
          const charted = async () => {
            const said = await page.evaluate(
              () =>
                document.querySelector('.chart-wide .chart-area')?.getAttribute('aria-label') ??
                document.querySelector('main')?.textContent ??
                '',
            );
            const found = /chart of (\d+) points/.exec(said);
            if (found === null)
              throw new Error(`The page shows no chart: ${said.replace(/\s+/g, ' ').slice(0, 500)}`);
            return Number(found[1]);
          };
          /** Makes the trainer write many steps, and waits until the chart has them all. */
          const flood = async (name: string, count: number) => {
            const had = await charted();
            writeFileSync(join(folder, name), '');
            while (!existsSync(join(folder, `${name}-over`))) await sleep(100);
            for (let tries = 0; (await charted()) < had + count; tries += 1) {
              if (tries > 300) throw new Error(`The chart has ${await charted()} points of ${had + count}.`);
              await sleep(100);
            }
          };
          await flood('burst', points);
          await sleep(1_000);
          const fps = await framesPerSecond(page, watchMs);

          const before = await heapMegabytes(cdp);
          await flood('hour', hour);
          const after = await heapMegabytes(cdp);
          await close();
          await call(server.url, 'POST', '/api/stop_training');
          const lists = await longLists(dir, number, size, watchMs);
          return {
            figures: { kilobytes, milliseconds, shift, fps, growth: Math.max(0, after - before), ...lists },
            answer: { points, hour },
          };
        } finally {
          // The trainer outlives its service unless it is told to stop.
          await call(server.url, 'POST', '/api/stop_training').catch(() => undefined);
          await closeBrowser();
          await server.end();
        }
      },
    },
  ],
  comparisons: [
    {
      metric: 'first view on the wire',
      figure: 'kilobytes',
      unit: 'kB',
      better: 'less',
      peer: null,
      goal: { atMost: 150 },
    },
    {
      metric: 'time until the first view is usable',
      figure: 'milliseconds',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: { below: 1000 },
    },
    {
      metric: 'layout shift, worst page at 1280 and 360 px',
      figure: 'shift',
      unit: '',
      better: 'less',
      peer: null,
      goal: { below: 0.05 },
    },
    {
      metric: 'frames drawn, 100,000 steps, 10 more a second',
      figure: 'fps',
      unit: 'frames/s',
      better: 'more',
      peer: null,
      goal: { atLeast: 50 },
    },
    {
      metric: 'heap after an hour of frames',
      figure: 'growth',
      unit: 'MB more',
      better: 'less',
      peer: null,
      goal: { atMost: 16 },
    },
    {
      metric: 'search in lists of 10,000, slowest press of a key',
      figure: 'search',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: { atMost: 100 },
    },
    {
      metric: 'frames drawn, lists of 10,000 scrolled and ordered',
      figure: 'scrolled',
      unit: 'frames/s',
      better: 'more',
      peer: null,
      goal: { atLeast: 50 },
    },
    {
      metric: 'palette over 10,000 models, slowest opening',
      figure: 'palette',
      unit: 'ms',
      better: 'less',
      peer: null,
      goal: { atMost: 100 },
    },
  ],
};
