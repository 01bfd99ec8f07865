/** The charts of a run and of a comparison, and the toolbar that all of them share. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { closeBrowser, keepPictures, type OpenPage, openPage, sidewaysPixels } from './browser.ts';
import { pace, storeRuns } from './stored-runs.ts';

const steps = 60;
const firstLoss = 90;
/** Falls, with noise, after a first value that is far from all others. */
const lossAt = (step: number) => (step === 1 ? firstLoss : 1 + 1 / step + 0.2 * (step % 2));

let service: TestService;

test.after(async () => {
  await closeBrowser();
  await endAll();
});

test.before(async () => {
  const dataDir = temporaryFolder();
  await (await startService({ dataDir })).end();
  storeRuns(dataDir, [
    {
      ...{ name: 'first', steps, lossAt, evaluations: { 20: 1.5, 40: 1.1, 60: 1.3 } },
      log: [
        ...[20, 40, 60].map((step) => ({
          ...{ level: 'info', kind: 'checkpoint', step, path: `checkpoint-${step}`, reason: 'interval' },
          ...{ best: step !== 60, message: `Checkpoint saved at step ${step}` },
        })),
        { level: 'info', kind: 'resume', step: 20, message: 'Resumed from step 20' },
      ],
    },
    { name: '=1+1', steps: 30, lossAt: (step) => 3 / step },
  ]);
  service = await startService({ dataDir });
});

/** Opens a page whose charts note the texts that they draw. */
async function openCharts(
  path: string,
  options: { theme?: 'light' | 'dark'; width?: number } = {},
): Promise<OpenPage> {
  const opened = await openPage(service.url, '/nowhere', options);
  await opened.page.addInitScript(() => {
    const written: string[] = [];
    Object.assign(globalThis, { written });
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text: string, ...place) {
      written.push(text);
      fillText.call(this, text, ...place);
    };
  });
  await opened.page.goto(service.url + path);
  await opened.page.locator('.chart-wide canvas').waitFor();
  return opened;
}

/** Waits until the charts have drawn a text. */
const draws = (page: Page, text: string) =>
  page.waitForFunction(
    (wanted) => (globalThis as unknown as { written: string[] }).written.includes(wanted),
    text,
  );
const written = (page: Page) => page.evaluate(() => (globalThis as unknown as { written: string[] }).written);
const forget = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { written: string[] }).written.splice(0));

/** The legend of a chart: what stands for each line, and where. */
const legend = async (page: Page, heading: string) =>
  ((await chart(page, heading).locator('.legend').textContent()) ?? '').replace(/\s+/g, ' ').trim();
const chart = (page: Page, heading: string) =>
  page.locator('hone-chart', { has: page.getByRole('heading', { name: heading, exact: true }) });

/** Waits until a chart of a comparison has a line for each of both runs. */
const hasBoth = (page: Page, heading: string) =>
  until(async () => {
    const shown = await legend(page, heading);
    return shown.includes('first') && shown.includes('=1+1');
  }, 'both runs are loaded');

test('all charts of a run count steps, epochs or time, as one control says, with titles on both axes', async () => {
  const { page, faults } = await openCharts('/training/train_1');
  for (const title of ['Step', 'Loss', 'Gradient norm', 'Learning rate']) await draws(page, title);
  assert.match(await legend(page, 'Loss'), /Step 60$/);
  const axis = page.getByLabel('X axis');
  await axis.selectOption('Epoch');
  await draws(page, 'Epoch');
  for (const heading of ['Loss', 'Gradient norm']) assert.match(await legend(page, heading), /Epoch 3$/);
  await axis.selectOption('Training time');
  await draws(page, 'Training time (min)');
  assert.match(await legend(page, 'Loss'), /Training time 30:00$/);
  await page.reload();
  await draws(page, 'Training time (min)');
  assert.is(await axis.inputValue(), 'time');
  assert.equal(faults, []);
});

test('smoothing is 0.6 at first, has the measured values beside it, and is kept', async () => {
  const { page, faults } = await openCharts('/training/train_1');
  const slider = page.getByLabel('Smoothing');
  assert.is(await slider.inputValue(), '0.6');
  const values = Array.from({ length: steps }, (_, index) => lossAt(index + 1));
  const average = (weight: number) => {
    const shares = values.map((_, index) => weight ** (steps - 1 - index));
    const sum = values.reduce((total, value, index) => total + value * (shares[index] as number), 0);
    return sum / shares.reduce((total, share) => total + share, 0);
  };
  const shown = (value: number) => String(Number(value.toPrecision(3)));
  const raw = `raw ${shown(lossAt(steps))}`;
  assert.match(await legend(page, 'Loss'), `Training ${shown(average(0.6))} ${raw}`);
  assert.match(await legend(page, 'Gradient norm'), /raw 1/);
  assert.not.match(await legend(page, 'Learning rate'), /raw/, 'nothing is measured');
  await slider.fill('0.9');
  await until(async () => (await legend(page, 'Loss')).includes(shown(average(0.9))), 'smoothed more');
  await page.reload();
  await until(async () => (await legend(page, 'Loss')).includes(shown(average(0.9))), 'kept');
  await slider.fill('0');
  await until(async () => !/raw/.test(await legend(page, 'Loss')), 'not smoothed');
  assert.match(await legend(page, 'Loss'), `Training ${shown(lossAt(steps))} Evaluation 1.3`);
  assert.equal(faults, []);
});

test('a logarithmic scale is one click away, for all charts and in later visits', async () => {
  const { page, faults } = await openCharts('/training/train_1');
  await page.getByLabel('Show outliers').check();
  await draws(page, '80');
  await page.getByLabel('Log scale').check();
  // The scale has only powers of ten.
  await draws(page, '100');
  await forget(page);
  await page.getByLabel('Smoothing').fill('0.5');
  await draws(page, '100');
  assert.not((await written(page)).includes('80'));
  await page.goto(`${service.url}/training/compare?run=train_1&run=train_2`);
  await draws(page, '100');
  assert.not((await written(page)).includes('80'));
  assert.ok(await page.getByLabel('Log scale').isChecked());
  assert.equal(faults, []);
});

test('one early value does not flatten a chart, unless all values are wanted', async () => {
  const { page, faults } = await openCharts('/training/train_1');
  await draws(page, '1.4');
  assert.not((await written(page)).includes('80'));
  const cut = chart(page, 'Loss').getByText('Outliers are outside the range');
  await cut.waitFor();
  assert.is(await page.getByText('Outliers are outside the range').count(), 1, 'in this chart alone');
  await page.getByLabel('Show outliers').check();
  await draws(page, '80');
  await cut.waitFor({ state: 'detached' });
  await page.getByLabel('Show outliers').uncheck();
  await cut.waitFor();
  assert.equal(faults, []);
});

/** How many pixels of a color each column of a chart's canvas has. */
const columns = (page: Page, heading: string, [red, green, blue]: readonly [number, number, number]) =>
  chart(page, heading)
    .locator('canvas')
    .evaluate(
      (canvas, color) => {
        const { width, height } = canvas as HTMLCanvasElement;
        // A copy to read from: the browser warns when the canvas of the page itself is read again and again.
        const copy = new OffscreenCanvas(width, height).getContext('2d', {
          willReadFrequently: true,
        }) as OffscreenCanvasRenderingContext2D;
        copy.drawImage(canvas as HTMLCanvasElement, 0, 0);
        const { data } = copy.getImageData(0, 0, width, height);
        const found: number[] = Array(width).fill(0);
        for (let at = 0; at < data.length; at += 4) {
          if (
            data[at] === color[0] &&
            data[at + 1] === color[1] &&
            data[at + 2] === color[2] &&
            data[at + 3] === 255
          )
            found[(at / 4) % width] = (found[(at / 4) % width] as number) + 1;
        }
        return found;
      },
      [red, green, blue],
    );
/** How many pixels of a color the canvas of a chart has. */
const pixels = async (...of: Parameters<typeof columns>) =>
  (await columns(...of)).reduce((sum, count) => sum + count, 0);
/** --good, --line-1, --line-2 and --line-5 of the light theme. */
const [good, first, second, fifth] = [
  [28, 107, 57],
  [15, 117, 110],
  [180, 88, 12],
  [138, 61, 122],
] as const;

test('a resume, checkpoints and the best evaluation are marked in all charts, and named at the pointer', async () => {
  const { page, faults } = await openCharts('/training/train_1');
  const marks = page.getByRole('list', { name: 'Marks in the charts' });
  assert.equal(
    (await marks.getByRole('listitem').allTextContents()).map((text) => text.trim()),
    ['Checkpoint', 'Resumed', 'Best evaluation'],
  );
  await until(async () => (await pixels(page, 'Loss', good)) > 50, 'the line of the best evaluation');
  await until(async () => (await pixels(page, 'Gradient norm', good)) > 50, 'it is in other charts, too');
  await chart(page, 'Loss').locator('.chart-area').focus();
  const at = async (step: number) => {
    while (!(await legend(page, 'Loss')).includes(`Step ${step}`)) await page.keyboard.press('ArrowLeft');
    return (await legend(page, 'Loss')).replace(/^.*?Step \d+ ?/, '');
  };
  assert.is(await at(50), '');
  assert.is(await at(40), 'Checkpoint Best evaluation');
  assert.is(await at(20), 'Checkpoint Resumed');
  assert.equal(faults, []);
});

test('in a comparison the marks of each run have its colour and name, beside the same toolbar', async () => {
  const { page, faults } = await openCharts('/training/compare?run=train_1&run=train_2');
  await page.getByRole('list', { name: 'Marks in the charts' }).getByRole('listitem').first().waitFor();
  assert.equal(
    (
      await page.getByRole('list', { name: 'Marks in the charts' }).getByRole('listitem').allTextContents()
    ).map((text) => text.trim()),
    ['Checkpoint', 'Resumed', 'Best evaluation'],
  );
  for (const tool of ['X axis', 'Log scale', 'Smoothing', 'Show outliers'])
    assert.ok(await page.getByLabel(tool).isVisible(), tool);
  // A chart that is drawn for the first time, or anew with another line, may miss a key.
  await hasBoth(page, 'Evaluation loss');
  await chart(page, 'Evaluation loss').locator('canvas').waitFor();
  await chart(page, 'Evaluation loss').locator('.chart-area').focus();
  const shown = () => legend(page, 'Evaluation loss');
  const at = async (step: number) => {
    while (!(await shown()).includes(`Step ${step}`)) await page.keyboard.press('ArrowLeft');
    return (await shown()).replace(/^.*?Step \d+ ?/, '');
  };
  assert.is(await at(40), 'Checkpoint (first) Best evaluation (first)');
  assert.is(await at(20), 'Checkpoint (first) Resumed (first)');
  // The learning rate is a level line: only a mark fills a column.
  const hasLine = (colour: readonly [number, number, number]) =>
    until(
      async () => Math.max(...(await columns(page, 'Learning rate', colour))) > 50,
      'the best evaluation is a line',
    );
  await hasLine(first);
  await page.goto(`${service.url}/training/compare?run=train_2&run=train_1`);
  await hasLine(second);
  await page.getByRole('button', { name: 'Remove first (train_1)' }).click();
  await page.getByRole('list', { name: 'Marks in the charts' }).waitFor({ state: 'detached' });
  assert.equal(faults, []);
});

test('what is off screen is drawn on paper and in a picture of the whole page, on paper in the light theme', async () => {
  const { page, faults } = await openCharts('/training/train_1', { theme: 'dark', width: 360 });
  const last = chart(page, 'Trainer memory');
  assert.is(await last.evaluate((element) => element.getBoundingClientRect().top > innerHeight), true);
  assert.is(await pixels(page, 'Trainer memory', fifth), 0);
  await page.evaluate(() => {
    addEventListener('beforeprint', () => {
      const canvases = [...document.querySelectorAll('canvas')];
      // Later, the page is in its own colors again.
      const copies = canvases.map((canvas) => canvas.toDataURL());
      Object.assign(globalThis, { printed: copies });
    });
  });
  await page.pdf();
  const inked = await page.evaluate(
    async (colors) => {
      const { printed } = globalThis as unknown as { printed: string[] };
      const counts = printed.map(async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const ink = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D;
        ink.drawImage(image, 0, 0);
        const { data } = ink.getImageData(0, 0, image.width, image.height);
        let found = 0;
        for (let at = 0; at < data.length; at += 4) {
          if (colors.some(([r, g, b]) => data[at] === r && data[at + 1] === g && data[at + 2] === b))
            found += 1;
        }
        return found;
      });
      return Promise.all(counts);
    },
    [first, fifth, [180, 88, 12], [90, 82, 181], [43, 108, 176]],
  );
  assert.is(inked.length, 5);
  assert.ok(Math.min(...inked) > 100, `pixels of lines: ${inked}`);
  await page.emulateMedia({ media: 'print' });
  const clickable = page.locator('button, nav, select, input, .button').filter({ visible: true });
  assert.equal(await clickable.allTextContents(), [], 'on paper there is nothing to click');
  await page.emulateMedia({ media: null });
  // Afterwards everything is as before.
  await until(async () => (await pixels(page, 'Trainer memory', [220, 148, 203])) > 50, 'dark again');

  // What changes while it is off screen is drawn as well.
  await page.getByLabel('X axis').selectOption('Epoch');
  await page.waitForFunction(
    () =>
      (globalThis as unknown as { written: string[] }).written.filter((text) => text === 'Epoch').length >= 5,
  );
  assert.equal(faults, []);
});

test('a part that is dragged in one chart is shown by all, and Reset shows the whole again', async () => {
  const { page, faults } = await openCharts('/training/train_1');
  const over = chart(page, 'Loss').locator('.u-over');
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  assert.ok(box);
  const at = (share: number) => [box.x + box.width * share, box.y + box.height / 2] as const;
  const firstStep = async (heading: string) => {
    const place = chart(page, heading).locator('.u-over');
    await place.scrollIntoViewIfNeeded();
    const left = await place.boundingBox();
    assert.ok(left);
    await page.mouse.move(left.x + 1, left.y + 20);
    return Number(/Step ([\d.]+)$/.exec(await legend(page, heading))?.[1]);
  };
  const zoomed = (heading: string) =>
    until(async () => (await firstStep(heading)) >= 20, `${heading} is zoomed`);
  const whole = (heading: string) =>
    until(async () => (await firstStep(heading)) <= 2, `${heading} is whole`);
  await page.mouse.move(...at(0.4));
  await page.mouse.down();
  await page.mouse.move(...at(0.5));
  await page.mouse.move(...at(0.6));
  await page.mouse.up();
  await zoomed('Loss');
  await zoomed('Gradient norm');
  await page.getByRole('button', { name: 'Reset zoom' }).click();
  await whole('Gradient norm');
  // The same by keyboard.
  await chart(page, 'Gradient norm').locator('.chart-area').focus();
  for (let presses = 0; presses < 5; presses += 1) await page.keyboard.press('+');
  await zoomed('Loss');
  await page.keyboard.press('0');
  await whole('Loss');
  assert.equal(faults, []);
});

/** Presses a button and reads the file that it saves. */
async function saved(page: Page, button: string): Promise<{ name: string; bytes: Buffer }> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ]);
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

test('the values of all charts are saved as measured', async () => {
  const { page, faults } = await openCharts('/training/train_1');
  const { name, bytes } = await saved(page, 'CSV of all charts');
  assert.is(name, 'first-charts.csv');
  const [head, ...rows] = bytes.toString().trimEnd().split('\r\n');
  assert.is(
    head,
    'step,epoch,training_seconds,"Loss: Training","Loss: Evaluation","Learning rate","Gradient norm","Tokens per second","Trainer memory"',
  );
  assert.is(rows.length, steps);
  assert.is(rows[0], `1,0.05,${pace.seconds},${firstLoss},,0.0001,2,100,${2 ** 30}`);
  assert.is(rows[39], `40,2,${40 * pace.seconds},${lossAt(40)},1.1,0.0001,2,100,${2 ** 30}`);
  await page.goto(`${service.url}/training/compare?run=train_1&run=train_2`);
  await hasBoth(page, 'Loss');
  const compared = await saved(page, 'CSV of all charts');
  assert.match(compared.bytes.toString().split('\r\n')[0] as string, '"Loss: =1+1"');
  await page.locator('.chart-wide summary').click();
  const single = await saved(page, 'Download CSV');
  assert.is(single.name, 'Comparison-Loss.csv');
  assert.match(single.bytes.toString().split('\r\n')[0] as string, `"first","'=1+1"`);
  assert.equal(faults, []);
});

test('a comparison is saved as a report, and its link and that of a run are copied', async () => {
  const { page, context, faults } = await openCharts('/training/compare?run=train_1&run=train_2');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole('button', { name: 'Report…' }).click();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Save', exact: true }).click(),
  ]);
  assert.is(file.suggestedFilename(), 'train_1-train_2.html');
  const report = readFileSync(await file.path(), 'utf8');
  for (const part of ['2 runs compared', 'first', '=1+1', '<svg']) assert.ok(report.includes(part), part);
  const link = page.getByRole('button', { name: 'Copy link' });
  await link.click();
  await until(async () => (await copied()) === page.url(), 'the comparison is in the clipboard');
  await page.goto(`${service.url}/training/train_1?view=charts`);
  await link.click();
  await until(async () => (await copied()) === `${service.url}/training/train_1?view=charts`, 'the run is');
  assert.equal(faults, []);
});

test('all charts are saved as a picture with their titles, in the colors of the page', async () => {
  const { page, faults } = await openCharts('/training/train_1', { theme: 'dark', width: 800 });
  await forget(page);
  const { name, bytes } = await saved(page, 'PNG of all charts');
  assert.is(name, 'first-charts.png');
  const texts = await written(page);
  for (const text of ['first', 'Loss', 'Training', 'Gradient norm', 'Step'])
    assert.ok(texts.includes(text), text);
  const picture = await page.evaluate(async (base64) => {
    const blob = new Blob([Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))]);
    const image = await createImageBitmap(blob);
    const canvas = new OffscreenCanvas(image.width, image.height);
    const ink = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D;
    ink.drawImage(image, 0, 0);
    const { data } = ink.getImageData(0, 0, image.width, image.height);
    const colors = new Map<string, number>();
    for (let at = 0; at < data.length; at += 4) {
      const color = `${data[at]},${data[at + 1]},${data[at + 2]}`;
      colors.set(color, (colors.get(color) ?? 0) + 1);
    }
    return { height: image.height, ground: colors.get('28,29,27') ?? 0, line: colors.get('92,200,189') ?? 0 };
  }, bytes.toString('base64'));
  assert.ok(picture.height > 800, `five charts are ${picture.height} high`);
  assert.ok(picture.ground > 100_000, 'the ground is that of the dark theme');
  assert.ok(picture.line > 200, 'the line of the loss is drawn');
  assert.equal(faults, []);
});

test('the toolbar fits 360 px in both themes', async () => {
  for (const [theme, path] of [
    ['light', '/training/train_1'],
    ['dark', '/training/compare?run=train_1&run=train_2'],
  ] as const) {
    const { page, context, faults } = await openCharts(path, { theme, width: 360 });
    assert.ok((await sidewaysPixels(page)) <= 0, `${path} scrolls sideways`);
    await keepPictures(page, `charts-${theme}`);
    assert.equal(faults, []);
    await context.close();
  }
});

test.run();
