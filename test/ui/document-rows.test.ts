/** The page of documents: files are added, a dataset is made of them, and what is wrong is told in place. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService } from '../service.ts';
import { smallPdf } from '../small-pdf.ts';
import { startTeacher, type TeacherService } from '../teacher.ts';
import { appearanceFaults } from './appearance.ts';
import { axeViolations, closeBrowser, openPage, setWidth, sidewaysPixels } from './browser.ts';

let service: TestService;
let teacher: TeacherService;
test.before(async () => {
  teacher = await startTeacher();
  service = await startService();
  for (const name of ['mixed', 'nonsense'])
    await service.call('POST', '/api/remote_models', { name, url: teacher.url });
});
test.after(async () => {
  await closeBrowser();
  await endAll();
  teacher.close();
});

test('documents are added and deleted, and a dataset is made of them with its progress', async () => {
  const { page, context, faults } = await openPage(service.url, '/datasets');
  await page.getByRole('link', { name: 'Make a dataset from documents' }).click();
  await page.getByRole('heading', { name: 'Datasets from documents' }).waitFor();
  const list = page.getByRole('region', { name: 'Documents', exact: true });
  await list.getByText('There are no documents.').waitFor();
  const make = page.getByRole('button', { name: 'Make rows' });
  await page.getByText('Add a document first.').waitFor();
  assert.ok(await make.isDisabled());

  const file = (name: string, pages: string[][]) => ({
    name,
    mimeType: 'application/pdf',
    buffer: smallPdf(pages),
  });
  await page
    .getByLabel('Add documents')
    .setInputFiles([
      file('fees.pdf', [
        ['The monthly fee of the library is twelve euros.', 'Students under twenty pay half of the price.'],
      ]),
      file('scan.pdf', [[], []]),
      file('zoo.pdf', [
        ['Zebra stripes differ from animal to animal.', 'Keepers tell them apart by the shoulder.'],
        [],
      ]),
    ]);
  await list.getByText(/scan\.pdf has no text on its 2 pages: they seem to be scanned/).waitFor();
  await list.getByRole('row', { name: /zoo\.pdf 1 page without text/ }).waitFor();
  assert.is(await list.getByRole('row', { name: /scan\.pdf/ }).count(), 0);

  await page.getByLabel('Model', { exact: true }).selectOption('mixed');
  await page.getByLabel('Name of the dataset').fill('library');
  await page.getByRole('button', { name: 'Estimate tokens' }).click();
  await page.getByText(/2 passages.*At\s+least 2 requests, about \d+ tokens of prompts/).waitFor();
  await page.getByLabel('Share for validation').fill('0.9');
  await make.click();
  await page
    .getByText(/must be at most 0\.5/)
    .first()
    .waitFor();
  await page.getByLabel('Share for validation').fill('0.5');
  await make.click();
  const made = page.getByRole('listitem', { name: 'library' });
  await made.getByText('completed').waitFor();
  await made.getByText(/with a quotation that is not in the passage/).waitFor();
  for (const width of [1440, 320]) {
    await setWidth(page, width);
    assert.ok((await sidewaysPixels(page)) <= 0, `${width}`);
  }
  assert.equal(await appearanceFaults(page, 'document-rows'), []);
  assert.equal(await axeViolations(page), []);

  await setWidth(page, 1440);
  await page.getByLabel('Model', { exact: true }).selectOption('nonsense');
  await page.getByLabel('Name of the dataset').fill('nothing');
  await make.click();
  const failed = page.getByRole('listitem', { name: 'nothing' });
  await failed.getByText(/answers of nonsense made no row/).waitFor();
  await failed.getByRole('button', { name: 'Resume nothing' }).waitFor();
  await failed.getByRole('button', { name: 'Forget nothing' }).click();
  await failed.waitFor({ state: 'detached' });
  await list.getByRole('button', { name: 'Delete zoo.pdf' }).click();
  await list.getByRole('row', { name: /zoo\.pdf/ }).waitFor({ state: 'detached' });
  await made.getByRole('link', { name: 'library.jsonl' }).click();
  await page.getByRole('heading', { name: 'library.jsonl' }).waitFor();
  assert.equal(faults, []);
  await context.close();
});

test.run();
