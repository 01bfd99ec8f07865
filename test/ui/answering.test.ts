/** The section of the dashboard about answers, in a real browser. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { storeModel } from '../stored-model.ts';
import {
  axeViolations,
  closeBrowser,
  keepPictures,
  openPage,
  sees,
  setWidth,
  sidewaysPixels,
} from './browser.ts';

let service: TestService;

test.before(async () => {
  const dataDir = temporaryFolder();
  storeModel(dataDir, 'support');
  service = await startService({ dataDir });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

test('the dashboard tells what models answered, from the first answer on', async () => {
  const { page, context, faults } = await openPage(service.url, '/', { theme: 'light' });
  await sees(page, 'This machine');
  const section = page.locator('hone-answering section');
  assert.is(await section.count(), 0);
  for (const prompt of ['ab', 'ab']) {
    const answer = await service.call('POST', '/v1/completions', { model: '1', prompt, max_tokens: 6 });
    assert.is(answer.status, 200);
  }
  await section.locator('.figure', { hasText: /Answered\s*2/ }).waitFor({ timeout: 120_000 });
  const told = async () =>
    (await section.locator('.figure').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
  for (const expected of [
    /^Running 0$/,
    /^Answered 2$/,
    /^Speed [\d.]+ tokens\/s$/,
    /^First token [\d.]+ m?s$/,
    /^Prompt tokens reused \d+%$/,
    /^support [\d.]+ (MB|GB|MiB|GiB)$/,
  ])
    await until(async () => (await told()).some((text) => expected.test(text)), `a figure is ${expected}`);
  for (const width of [1440, 640, 320]) {
    await setWidth(page, width);
    assert.ok((await sidewaysPixels(page)) <= 0, `${width}`);
  }
  await keepPictures(page, 'answering');
  assert.equal(await axeViolations(page), []);
  assert.equal(faults, []);
  await context.close();
});

test.run();
