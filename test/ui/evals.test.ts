/** The page of evals of OpenAI's API: their runs, results by criterion, rows, and their deletion. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, type Json, startService, type TestService, until } from '../service.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, openPage, sees } from './browser.ts';

let service: TestService;
test.before(async () => {
  service = await startService();
});
test.after(async () => {
  await closeBrowser();
  await endAll();
});

const check = (name: string, operation: string) => ({
  ...{ type: 'string_check', name, operation },
  ...{ input: '{{sample.output_text}}', reference: '{{item.label}}' },
});
const made = async (path: string, body: object): Promise<Json> => {
  const { status, body: object } = await service.call('POST', `/v1/evals${path}`, body);
  assert.is(status, 200, JSON.stringify(object));
  return object;
};
/** Starts a run. @returns when it has ended. */
async function run(evalId: string, name: string, rows: number): Promise<void> {
  const id = await start(evalId, name, rows);
  await until(async () => {
    const { body } = await service.call('GET', `/v1/evals/${evalId}/runs/${id}`);
    return body.status === 'completed';
  }, 'the run ended');
}

/** @returns its ID. */
async function start(evalId: string, name: string, rows: number): Promise<string> {
  const content = Array.from({ length: rows }, (_, at) => ({
    item: { ticket: `Ticket ${at + 1}`, label: 'Billing' },
    sample: { output_text: at % 3 === 0 ? 'Billing' : `billing ${at}` },
  }));
  const data_source = { type: 'jsonl', source: { type: 'file_content', content } };
  return (await made(`/${evalId}/runs`, { name, data_source })).id;
}

test('evals are listed, and one has its runs, results by criterion and rows', async () => {
  const { page, context, faults } = await openPage(service.url, '/models/evaluations');
  await sees(page, 'No evaluations yet');
  assert.is(await page.getByText('Evals of OpenAI’s API').count(), 0);
  const item_schema = { type: 'object', properties: { label: { type: 'string' } } };
  const { id } = await made('', {
    name: 'Labels of tickets',
    data_source_config: { type: 'custom', item_schema, include_sample_schema: true },
    testing_criteria: [check('exact', 'eq'), check('any case', 'ilike')],
  });
  await run(id, 'first', 3);
  await run(id, 'second', 25);
  await page.reload();
  await page.getByRole('row', { name: /Labels of tickets exact, any case/ }).waitFor();
  assert.equal(await appearanceFaults(page, 'evals'), []);
  assert.equal(await axeViolations(page), []);

  await page.getByRole('link', { name: 'Labels of tickets' }).click();
  await page.getByRole('heading', { level: 1, name: 'Labels of tickets' }).waitFor();
  await page
    .getByRole('row', {
      name: /second given answers completed, 9 of 25 passed exact: 9 of 25 any case: 25 of 25/,
    })
    .waitFor();
  const rows = page.getByRole('region', { name: 'Table of scored rows' }).locator('tbody tr');
  await until(async () => (await rows.count()) === 20, 'a page of rows is shown');
  assert.match(
    await rows.nth(1).innerText(),
    /billing 1[\s\S]*Ticket 2[\s\S]*Failed[\s\S]*exact: 0, .*differs[\s\S]*any case: 1/,
  );
  await page.getByRole('button', { name: 'Show more rows' }).click();
  await until(async () => (await rows.count()) === 25, 'all rows are shown');
  assert.is(await page.getByRole('button', { name: 'Show more rows' }).count(), 0);
  assert.equal(await appearanceFaults(page, 'eval'), []);
  assert.equal(await axeViolations(page), []);

  await page.getByRole('link', { name: 'first' }).click();
  await page.getByRole('heading', { name: 'Rows of first' }).waitFor();
  await until(async () => (await rows.count()) === 3, 'the rows of the other run are shown');
  await page.getByRole('button', { name: 'Delete first' }).click();
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('heading', { name: 'Rows of second' }).waitFor();
  assert.is((await service.call('GET', `/v1/evals/${id}/runs`)).body.data.length, 1);
  await start(id, 'third', 4_000);
  await page.reload();
  await page.getByRole('row', { name: /third given answers completed, 1,334 of 4,000 passed/ }).waitFor();
  await until(async () => (await rows.count()) === 20, 'its rows come by themselves');
  await page.getByRole('button', { name: 'Delete eval…' }).click();
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('heading', { level: 1, name: 'Evaluations' }).waitFor();
  assert.is(await page.getByText('Evals of OpenAI’s API').count(), 0);
  await page.goto(`${service.url}/models/evals/${id}`);
  await sees(page, 'Could not load the eval');
  assert.equal(
    faults.filter((fault) => !fault.includes('404')),
    [],
  );
  await context.close();
});

test.run();
