/** Signing in, access keys and the warning of open access, in a real browser with a service that wants a key. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, endAll, type Json, startService, type TestService, until } from '../service.ts';
import {
  axeViolations,
  closeBrowser,
  isLive,
  keepPictures,
  openPage,
  sees,
  setWidth,
  sidewaysPixels,
  theBrowser,
  typeModel,
} from './browser.ts';

const mainKey = 'of-the-environment-and-long-enough';
let service: TestService;

test.before(async () => {
  service = await startService({ args: ['--access', 'key'], env: { HONE_ACCESS_KEY: mainKey } });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

/** A request with a key. */
async function ask(
  method: string,
  path: string,
  body?: unknown,
  key = mainKey,
): Promise<Omit<Answer, 'headers'>> {
  const response = await fetch(service.url + path, {
    method,
    headers: { connection: 'close', authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

const addKey = async (name: string): Promise<Json> => (await ask('POST', '/api/keys', { name })).body;

const dialog = '.sign-in';
type Page = Awaited<ReturnType<typeof openPage>>['page'];

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('Access key', { exact: true }).fill(key);
  await page.keyboard.press('Enter');
}

for (const theme of ['light', 'dark'] as const) {
  test(`the page asks for a key, refuses a wrong one, and goes on where it was asked for (${theme})`, async () => {
    const { page, context, faults } = await openPage(service.url, '/models?q=a', { theme });
    await sees(page, 'Sign in to Hone');
    for (const width of [1440, 640, 320]) {
      await setWidth(page, width);
      assert.ok((await sidewaysPixels(page)) <= 0, `${width}`);
    }
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.locator(dialog).waitFor();
    await signIn(page, 'hone_00000000_wrong');
    await sees(page, 'This access key is not valid');
    assert.equal(await axeViolations(page), []);
    await keepPictures(page, `sign-in-${theme}`);
    await signIn(page, mainKey);
    await sees(page, 'No models yet');
    assert.is(await page.locator(dialog).count(), 0);
    await isLive(page);
    assert.match(page.url(), /\/models\?q=a$/);

    const [cookie] = await context.cookies();
    assert.equal([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
    assert.not.match(JSON.stringify(await page.evaluate(() => ({ ...localStorage }))), mainKey);
    await page.reload();
    await sees(page, 'No models yet');
    assert.is(await page.locator(dialog).count(), 0);
    assert.equal(faults, []);
    await context.close();
  });
}

test('a key in the address signs in, and is at once in neither the address nor the history', async () => {
  const { key, id } = await addKey('link');
  const { page, context, faults } = await openPage(service.url, `/training?x=1#key=${key}`);
  await isLive(page);
  await page.getByRole('heading', { name: 'New training' }).waitFor();
  assert.is(page.url(), `${service.url}/training?x=1`);
  await page.getByRole('link', { name: 'Models' }).click();
  await sees(page, 'No models yet');
  await page.goBack();
  assert.is(page.url(), `${service.url}/training?x=1`);
  assert.equal(faults, []);
  await context.close();

  await ask('DELETE', `/api/keys/${id}`);
  const late = await openPage(service.url, `/#key=${key}`);
  await sees(late.page, 'This access key is not valid');
  assert.is(late.page.url(), `${service.url}/`);
  await late.context.close();
});

for (const theme of ['light', 'dark'] as const) {
  test(`a key is made, shown once, and revoked (${theme})`, async () => {
    const { page, context, faults } = await openPage(service.url, `/#key=${mainKey}`, { theme });
    await isLive(page);
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.getByRole('link', { name: 'Manage access keys' }).click();
    await sees(page, 'Everyone needs a key');
    await sees(page, 'HONE_ACCESS_KEY');
    await page.getByLabel('Name').fill(`<b>${theme}</b>`);
    await page.getByLabel('Scope').selectOption('inference');
    await page.getByLabel('Keep the answers to its requests').check();
    await page.getByRole('button', { name: 'Add key' }).click();
    const shown = page.locator('.new-key code');
    await shown.waitFor();
    const key = (await shown.textContent()) ?? '';
    assert.is((await ask('GET', '/v1/models', undefined, key)).status, 200);
    assert.is((await ask('GET', '/api/jobs', undefined, key)).status, 403);
    await Promise.all([
      page.getByRole('button', { name: 'Copied' }).waitFor(),
      page.getByRole('button', { name: 'Copy key' }).click(),
    ]);
    const row = page.locator('tbody tr', { hasText: `<b>${theme}</b>` });
    await row.waitFor();
    assert.match((await row.textContent()) ?? '', key.split('_')[1] as string);
    for (const width of [1440, 640, 360, 320]) {
      await setWidth(page, width);
      assert.ok((await sidewaysPixels(page)) <= 0, `${width}`);
    }
    assert.equal(await axeViolations(page), []);
    await keepPictures(page, `access-${theme}`);
    const recording = async () => {
      const { keys } = (await ask('GET', '/api/keys')).body;
      return keys.find(({ name }: Json) => name === `<b>${theme}</b>`).recording;
    };
    assert.is(await recording(), true);
    await row.getByRole('checkbox', { name: 'Keep the answers' }).uncheck();
    await sees(page, `Answers to requests with <b>${theme}</b> are no longer kept.`);
    assert.is(await recording(), false);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.reload();
    await row.getByText('just now').waitFor();
    assert.is(await row.getByRole('checkbox', { name: 'Keep the answers' }).isChecked(), false);
    assert.not.match(await page.content(), key);

    await page.getByLabel('Name').fill(`agent ${theme}`);
    await page.getByLabel('Scope').selectOption('train');
    await page.getByLabel('Minutes of training').fill('90');
    await page.getByLabel('Runs').fill('0');
    await page.getByRole('button', { name: 'Add key' }).click();
    await sees(page, 'greater than 0');
    await page.getByLabel('Runs').fill('');
    assert.equal(await axeViolations(page), []);
    await setWidth(page, 320);
    assert.ok((await sidewaysPixels(page)) <= 0, 'the budget at 320 pixels');
    await setWidth(page, 1440);
    await keepPictures(page, `access-budget-${theme}`);
    await page.getByRole('button', { name: 'Add key' }).click();
    await shown.waitFor();
    await page.getByText('Minutes of training: 0 of 90').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    const agent = page.locator('tbody tr', { hasText: `agent ${theme}` });
    await agent.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await agent.waitFor({ state: 'detached' });

    await row.getByRole('button', { name: 'Revoke' }).click();
    await sees(page, 'Revoke this key?');
    assert.equal(await axeViolations(page), []);
    await page.getByRole('button', { name: 'Revoke key', exact: true }).click();
    await row.waitFor({ state: 'detached' });
    assert.is((await ask('GET', '/v1/models', undefined, key)).status, 401);
    assert.equal(faults, []);
    await context.close();
  });
}

test('a session that ends leads to the sign-in, and after it the page and its drafts are as they were', async () => {
  const { key, id } = await addKey('first');
  const { page, context, faults } = await openPage(service.url, `/access#key=${key}`);
  await isLive(page);
  await page.getByLabel('Name').fill('of a draft');
  await ask('DELETE', `/api/keys/${id}`);
  // The socket is closed, and the page asks why.
  await page.locator(dialog).waitFor({ timeout: 60_000 });
  await signIn(page, mainKey);
  await page.locator(dialog).waitFor({ state: 'detached' });
  assert.match(page.url(), /\/access$/);
  assert.is(await page.getByLabel('Name').inputValue(), 'of a draft');
  // The focus is back.
  await page.locator('#key-name:focus').waitFor();
  await isLive(page);
  assert.equal(faults, []);
  await context.close();
});

test('a session that was read before the key of the address was taken does not ask for a key', async () => {
  const { page, context, faults } = await openPage(service.url, '/models');
  await page.locator(dialog).waitFor();
  let signedIn = () => {};
  const signingIn = new Promise<void>((resolve) => {
    signedIn = resolve;
  });
  await page.route('**/api/session', async (route) => {
    const response = await route.fetch();
    if (route.request().method() === 'GET') await signingIn;
    await route.fulfill({ response });
    if (route.request().method() === 'POST') signedIn();
  });
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (document.querySelector('dialog.sign-in') !== null) sessionStorage.setItem('asked', 'yes');
    }).observe(document, { childList: true, subtree: true });
  });
  // Only another path loads the page anew.
  await page.goto(`${service.url}/access#key=${mainKey}`);
  await sees(page, 'This browser is signed in with the key');
  await isLive(page);
  assert.is(await page.evaluate(() => sessionStorage.getItem('asked')), null);
  assert.equal(faults, []);
  await context.close();
});

test('a request whose session has ended is held, and sent after the sign-in', async () => {
  const { key, id } = await addKey('second');
  const { page, context } = await openPage(service.url, `/access#key=${key}`);
  await isLive(page);
  await page.getByLabel('Name').fill('held');
  await ask('DELETE', `/api/keys/${id}`);
  // The dialog may be open by then: the connection ends with the session, too.
  await page.getByRole('button', { name: 'Add key' }).evaluate((button: HTMLElement) => button.click());
  await page.locator(dialog).waitFor({ timeout: 60_000 });
  const names = async () => (await ask('GET', '/api/keys')).body.keys.map(({ name }: Json) => name);
  assert.not.ok((await names()).includes('held'));
  await signIn(page, mainKey);
  await page.locator('.new-key code').waitFor();
  assert.is((await names()).filter((name: string) => name === 'held').length, 1);
  await context.close();
});

test('so is an upload, and what was typed into the form of a training is still there', async () => {
  const { key, id } = await addKey('third');
  const { page, context, faults } = await openPage(service.url, `/training#key=${key}`);
  await isLive(page);
  await typeModel(page, 'no model');
  await ask('DELETE', `/api/keys/${id}`);
  const rows = Array.from({ length: 12 }, (_, index) => `{"input":"in ${index}","output":"out"}`);
  await page.setInputFiles('#dataset-file', {
    name: 'held.jsonl',
    mimeType: 'application/jsonl',
    buffer: Buffer.from(rows.join('\n')),
  });
  await page.locator(dialog).waitFor({ timeout: 60_000 });
  await signIn(page, mainKey);
  await sees(page, '12 rows, all valid');
  assert.is(await page.getByLabel('Hub ID or folder').inputValue(), 'no model');
  assert.match(page.url(), /\/training$/);
  assert.equal(faults, []);
  await context.close();
});

test('signing out ends the session and shows nothing more', async () => {
  const { page, context } = await openPage(service.url, `/access#key=${mainKey}`);
  await isLive(page);
  const [cookie] = await context.cookies();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await sees(page, 'Sign in to Hone');
  await until(async () => (await context.cookies()).length === 0, 'the cookie is deleted');
  const stale = await fetch(`${service.url}/api/jobs`, {
    headers: { cookie: `${cookie?.name}=${cookie?.value}` },
  });
  assert.is(stale.status, 401);
  await context.close();
});

test('the page warns of open access where others reach it, and says nothing on loopback', async () => {
  const open = await startService({ args: ['--access', 'open', '--host', '0.0.0.0'] });
  const local = await startService();
  const warned = await openPage(open.url, '/');
  await sees(warned.page, 'Access is open.');
  for (const width of [1280, 320]) {
    await setWidth(warned.page, width);
    assert.ok((await sidewaysPixels(warned.page)) <= 0, `${width}`);
  }
  assert.equal(await axeViolations(warned.page), []);
  await keepPictures(warned.page, 'access-open');
  assert.is(await warned.page.locator(dialog).count(), 0);

  const { page, faults } = await openPage(local.url, '/access');
  await sees(page, 'need no key; all others do');
  await isLive(page);
  assert.is(await page.locator(`.banner, ${dialog}`).count(), 0);
  assert.is(await page.getByRole('button', { name: 'Sign out' }).count(), 0);
  assert.equal([...warned.faults, ...faults], []);
  await (await theBrowser()).close();
});

test.run();
