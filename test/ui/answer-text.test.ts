/** Answers of a stored chat in a real browser: Markdown, JSON, and the text as it was written. */
import type { Locator } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, type Json, startService, type TestService, temporaryFolder, until } from '../service.ts';
import { storeModel } from '../stored-model.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, openPage, sees, setWidth, sidewaysPixels } from './browser.ts';

let service: TestService;
let modelId = '';

test.before(async () => {
  const dataDir = temporaryFolder();
  ({ modelId } = storeModel(dataDir));
  service = await startService({ dataDir });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** An answer with most of what Markdown has, and what must stay text. */
const markdown = `
# A **heading**

- one
- two: \`code\` is not

Some **bold** text, a [link](https://example.com/), a [trap](javascript:alert(1)), <img src=x onerror=alert(1)>
and ![a picture](https://example.com/pixel.png).

\`\`\`python
print("<b>")
\`\`\`

| a | b |
|---|---|
| 1 | 2 |
`;

/** A prompt and its answer, as the page of earlier versions kept them. */
const storedExchange = (text: string, index: number) => ({
  id: index + 1,
  prompt: `Question ${index + 1}`,
  sides: [
    {
      ...{ name: 'llama', first: '', text, busy: false, error: null, stopped: false },
      answer: { tokens: 3, promptTokens: 9, generationMs: 1, firstTokenMs: 1 },
    },
  ],
});

test('an answer is laid out as Markdown or JSON, or as the model wrote it, and nothing of it is HTML', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${modelId}`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  const texts = [
    markdown,
    '{"team": "billing", "labels": ["late", "paid"], "none": null}',
    '{"team": ',
    '1974-06-15.\n',
  ];
  await page.evaluate(
    ([key, chat]) => localStorage.setItem(key as string, chat as string),
    [`hone.chats.${modelId}`, JSON.stringify([{ id: 'stored', exchanges: texts.map(storedExchange) }])],
  );
  await page.evaluate((id) => sessionStorage.setItem(`hone.chat.${id}`, '"stored"'), modelId);
  await page.reload();
  await until(
    async () => (await page.locator('.exchange').count()) === texts.length,
    'the service has the chat',
  );
  assert.is(await page.evaluate((id) => localStorage.getItem(`hone.chats.${id}`), modelId), '[]');
  const { body } = await service.call('GET', `/api/playground/chats?model_id=${modelId}`);
  assert.equal(
    body.chats.map(({ id, title, turns }: Json) => [id, title, turns]),
    [['stored', 'Question 1', texts.length]],
  );
  const [first, second, third] = [0, 1, 2].map((index) => page.locator('.exchange').nth(index)) as Locator[];
  await first?.getByRole('list').waitFor();
  assert.equal(await first?.getByRole('listitem').allTextContents(), ['one', 'two: code is not']);
  assert.is(await first?.locator('strong').last().textContent(), 'bold');
  assert.is(await first?.locator('.answer img, .answer script, .answer h1').count(), 0);
  assert.match((await first?.textContent()) ?? '', '<img src=x onerror=alert(1)>');
  assert.equal(
    await first?.getByRole('link').evaluateAll((links) => links.map((one) => one.getAttribute('href'))),
    ['https://example.com/', 'https://example.com/pixel.png'],
  );
  assert.is(await first?.getByRole('columnheader').count(), 2);
  await first?.getByRole('button', { name: 'Copy', exact: true }).click();
  await until(async () => (await clipboard()) === 'print("<b>")\n', 'the code is in the clipboard');
  await first?.getByRole('button', { name: 'Copy answer' }).click();
  await until(async () => (await clipboard()) === markdown.trim(), 'the answer is in the clipboard');
  // The fields of the object, and the list in one of them.
  assert.is(await second?.locator('details.json').count(), 2);
  await second?.getByText('2 items').click();
  assert.not.ok(await second?.getByText('"late"').isVisible());
  assert.is((await third?.locator('.answer-text').textContent())?.trim(), '{"team":', 'it is no JSON');
  assert.is(await page.getByRole('button', { name: 'Raw' }).count(), 2, 'a plain line looks the same');
  assert.equal(await appearanceFaults(page, 'playground-markdown'), []);
  await first?.getByRole('button', { name: 'Raw' }).click();
  assert.is(await first?.locator('p.answer-text bdi').textContent(), markdown, 'exactly as it was written');
  assert.is(await first?.getByRole('button', { name: 'Raw' }).getAttribute('aria-pressed'), 'true');
  assert.equal(faults, []);
});

test('answers of any length fit the page: a text without a break, a table of ten thousand rows', async () => {
  const line = 'a'.repeat(200_000);
  const rows = Array.from({ length: 10_000 }, (_, row) => `| ${row} | x |`);
  const table = ['| a | b |', '|---|---|', ...rows].join('\n');
  const turns = [line, table].map((text, index) => ({
    ...{ id: `${index}`, after: index === 0 ? '' : '0', prompt: text.slice(0, 10_000) },
    answers: [{ name: `${'\u05e9'.repeat(100)}🚀`, text }],
  }));
  const route = '/api/playground/chats/long';
  assert.is((await service.call('PUT', route, { model_id: modelId, turns })).status, 200);
  const { page, context, faults } = await openPage(service.url, '/nowhere');
  await page.evaluate((id) => sessionStorage.setItem(`hone.chat.${id}`, '"long"'), modelId);
  await page.goto(`${service.url}/playground/${modelId}`);
  const answers = page.locator('.answer-text');
  await answers.last().getByText('9999').first().waitFor();
  assert.is((await answers.first().textContent())?.trim().length, line.length);
  for (const width of [1280, 360]) {
    await setWidth(page, width);
    assert.ok((await sidewaysPixels(page)) <= 0, `${width}`);
  }
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByLabel('Temperature').waitFor();
  assert.equal(faults, []);
  await context.close();
  await service.call('DELETE', route);
});

test('a narrow page has the messages alone, and its settings in a sheet', async () => {
  const { page, context, faults } = await openPage(service.url, `/playground/${modelId}`, {
    width: 360,
    height: 740,
  });
  await page.locator('.exchange').first().waitFor();
  assert.is(await page.getByLabel('Temperature').count(), 0);
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByLabel('Temperature').fill('0.5');
  assert.is(await page.getByLabel('Temperature').inputValue(), '0.5', 'it stays open');
  assert.equal(await axeViolations(page), []);
  await page.keyboard.press('Escape');
  await page.getByLabel('Temperature').waitFor({ state: 'detached' });
  // The prompt is at the foot of what is seen.
  assert.ok(await page.getByLabel('Prompt', { exact: true }).isVisible());
  assert.equal(faults, []);
  await context.close();
});

test('chats of a deleted model are read, exported, deleted and restored', async () => {
  const turn = {
    id: 'a',
    after: '',
    prompt: 'Where is my parcel?',
    answers: [{ name: 'gone', text: 'Lost.' }],
  };
  const route = '/api/playground/chats';
  await service.call('PUT', `${route}/deleted-1`, { model_id: 'gone', turns: [turn] });
  const { page, context, faults } = await openPage(service.url, `/playground/${modelId}`, { width: 1440 });
  await page.getByText('Chats of deleted models (1)').click();
  await sees(page, 'model deleted');
  await page.getByRole('button', { name: 'Read Where is my parcel?' }).click();
  await page.getByRole('dialog').getByText('Lost.').waitFor();
  assert.is(await page.getByRole('dialog').getByRole('button', { name: 'Regenerate' }).count(), 0);
  for (const width of [1440, 360]) {
    await setWidth(page, width);
    assert.ok((await sidewaysPixels(page)) <= 0, `${width}`);
    assert.equal(await axeViolations(page), []);
  }
  await page.keyboard.press('Escape');
  const [exported] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export Where is my parcel?' }).click(),
  ]);
  assert.is(exported.suggestedFilename(), 'Where-is-my-parcel.json');
  await page.getByRole('button', { name: 'Delete Where is my parcel?' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Chats of deleted models (1)').waitFor();
  assert.is((await service.call('GET', `${route}/deleted-1`)).status, 200);
  assert.equal(faults, []);
  await context.close();
});

test.run();
