/** Models of other services on the page of base models: one is added, asked, refused a second time, and removed. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type RemoteService, startRemote } from '../remote-service.ts';
import { endAll, startService, type TestService } from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, openPage, setWidth, sidewaysPixels } from './browser.ts';

const key = 'sk-canaryRemote0123456789';
let service: TestService;
let remote: RemoteService;
test.before(async () => {
  remote = await startRemote();
  service = await startService();
});
test.after(async () => {
  await closeBrowser();
  await endAll();
  remote.close();
});

test('a model is added, asked and removed, what is wrong is told in place, and its key is never shown', async () => {
  const { page, context, faults } = await openPage(service.url, '/models/base');
  const card = page.getByRole('region', { name: 'Models of other services' }).first();
  await card.getByText('There are no models of other services.').waitFor();
  const add = card.getByRole('button', { name: 'Add model' });
  const fill = async (name: string, url: string) => {
    await card.getByLabel('Name').fill(name);
    await card.getByLabel('URL').fill(url);
  };
  await card.getByLabel('Name').fill('gpt');
  assert.ok(await add.isDisabled());
  await fill('gpt', 'ftp://a.example');
  await add.click();
  await card
    .getByText(/must be an http:\/\/ or https:\/\/ address/)
    .first()
    .waitFor();
  await fill('gpt', remote.url);
  await card.getByLabel('Model there').fill('good');
  await card.getByLabel('Key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
  await card.getByRole('row', { name: /gpt good, http.*, with a key/ }).waitFor();
  assert.is(await card.getByLabel('Key', { exact: true }).inputValue(), '');
  const { status } = await service.call('POST', '/v1/chat/completions', {
    ...{ model: 'gpt', messages: [{ role: 'user', content: 'Where is it?' }] },
  });
  assert.is(status, 200);
  assert.is(remote.asked.at(-1)?.headers.authorization, `Bearer ${key}`);

  await fill('gpt', remote.url);
  await add.click();
  await card
    .getByText(/There is a model "gpt" of another service already/)
    .first()
    .waitFor();
  await fill(
    'a.very-long_name.of-a-model-that-still.has-to_fit.into-a_page',
    `${remote.url}/${'path'.repeat(40)}`,
  );
  await add.click();
  await card.getByRole('row', { name: /very-long/ }).waitFor();
  for (const width of [1440, 320]) {
    await setWidth(page, width);
    assert.ok((await sidewaysPixels(page)) <= 0, `${width}`);
  }
  assert.equal(await appearanceFaults(page, 'remote-models'), []);
  assert.equal(await axeViolations(page), []);
  assert.not.match(await page.content(), key);
  await card.getByRole('button', { name: 'Remove gpt' }).click();
  await card.getByRole('row', { name: /gpt good/ }).waitFor({ state: 'detached' });
  await card.getByRole('button', { name: /^Remove a\.very/ }).click();
  await card.getByText('There are no models of other services.').waitFor();
  assert.equal(faults, []);
  await context.close();
});

test.run();
