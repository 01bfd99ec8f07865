/** Masking of personal data, installed as a user does: what it finds in kept answers before rows are made of them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runHone } from '../cli/run-hone.ts';
import { endAll, type Json, startService, type TestService, temporaryFolder } from '../service.ts';
import { saying, storeModel } from '../stored-model.ts';
import { appearanceFaults } from '../ui/appearance.ts';
import { closeBrowser, openPage, sees } from '../ui/browser.ts';

const dataDir = temporaryFolder();
const hone = (...args: string[]) =>
  runHone(['mask', ...args], { cwd: dataDir, env: { SERVICE_DATA_DIR: dataDir } });
let service: TestService;

test.before(async () => {
  const chatTemplate = '{% for message in messages %}{{ message.content }}{% endfor %}#';
  storeModel(dataDir, 'support', undefined, { context: 512, layers: 1, chatTemplate, next: saying('abc') });
  service = await startService({ dataDir });
  for (const content of [
    'I am Ada: ada.lovelace@example.com or +1 212-555-0187.',
    'Charge 4111 1111 1111 1111, or DE89 3704 0044 0532 0130 00, on 2026-01-01.',
    'Nothing to hide: order 1234567.',
  ]) {
    const messages = [{ role: 'user', content }];
    const body = { model: 'support', messages, max_tokens: 8, temperature: 0, store: true };
    assert.is((await service.call('POST', '/v1/chat/completions', body)).status, 200);
  }
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const wanted = { kind: 'sft', mask: true };

test('without it rows are not made, and the answer says how it is installed', async () => {
  for (const path of ['/api/traffic/rows', '/api/datasets/masked.jsonl/answers']) {
    const { status, body } = await service.call('POST', path, wanted);
    assert.is(status, 409);
    assert.match(body.detail, 'hone mask add');
  }
  assert.equal((await service.call('GET', '/api/datasets')).body.datasets, []);
  const { out } = await hone('list');
  assert.match(out, 'not installed');
});

test('values are replaced by their kinds in rows alone, after a look at what would be', async () => {
  const added = await hone('add');
  assert.is(added.code, 0, added.errors);
  const { status, body } = await service.call('POST', '/api/traffic/rows', wanted);
  assert.is(status, 200, JSON.stringify(body));
  assert.equal(body.masked.found, { EMAIL_ADDRESS: 1, PHONE_NUMBER: 1, CREDIT_CARD: 1, IBAN_CODE: 1 });
  assert.is(body.masked.rows, 3);
  const changed = body.masked.examples.map(({ after }: Json) => after).sort();
  assert.equal(changed.slice(0, 1), ['Charge <CREDIT_CARD>, or <IBAN_CODE>, on 2026-01-01.']);
  assert.match(changed[1], /: <EMAIL_ADDRESS> or <PHONE_NUMBER>\.$/);

  const { page, context, faults } = await openPage(service.url, '/traffic');
  await page.getByRole('button', { name: 'Make rows…' }).click();
  await page.getByLabel('Mask personal data').check();
  await sees(page, /1 EMAIL_ADDRESS/);
  await page.getByText(/in the first 3 rows/).click();
  await sees(page, 'Charge <CREDIT_CARD>, or <IBAN_CODE>, on 2026-01-01.');
  assert.equal(await appearanceFaults(page, 'traffic-masked'), []);
  assert.equal(faults, []);
  await context.close();

  const made = await service.call('POST', '/api/datasets/masked.jsonl/answers', wanted);
  assert.equal([made.status, made.body.added, made.body.masked.rows], [200, 3, 3], JSON.stringify(made.body));
  const rows = (await service.call('GET', '/api/datasets/masked.jsonl/file')).body;
  assert.match(rows, '<EMAIL_ADDRESS>');
  assert.match(rows, 'order 1234567');
  assert.not.match(rows, /lovelace|4111|0187|DE89/);
  const kept = (await service.call('GET', '/api/traffic')).body;
  assert.match(JSON.stringify(kept), 'ada.lovelace@example.com');
  assert.is((await hone('remove')).code, 0);
  assert.is((await service.call('POST', '/api/traffic/rows', wanted)).status, 409);
});

test.run();
