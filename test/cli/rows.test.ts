/** `hone rows`: documents are added and rows are made of them by the running service, and what is wrong is told. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, startService, type TestService, temporaryFolder } from '../service.ts';
import { smallPdf } from '../small-pdf.ts';
import { startTeacher, type TeacherService } from '../teacher.ts';
import { runHone } from './run-hone.ts';

const folder = temporaryFolder();
let service: TestService;
let teacher: TeacherService;
const hone = (...args: string[]) =>
  runHone(args, { cwd: folder, env: { SERVICE_DATA_DIR: service.dataDir, HOME: folder } });

test.before(async () => {
  teacher = await startTeacher();
  service = await startService();
  for (const name of ['mixed', 'labels', 'nonsense'])
    await service.call('POST', '/api/remote_models', { name, url: teacher.url });
  writeFileSync(
    join(folder, 'fees.pdf'),
    smallPdf([['The monthly fee of the library is twelve euros.', 'Students pay half of the price.']]),
  );
  writeFileSync(
    join(folder, 'zoo.txt'),
    'Zebra stripes differ from animal to animal. Keepers tell them apart by the shoulder.',
  );
  writeFileSync(join(folder, 'scan.pdf'), smallPdf([[]]));
});
test.after(async () => {
  await endAll();
  teacher.close();
});

test('documents become datasets, whose names are printed', async () => {
  const made = await hone('rows', 'fees.pdf', 'zoo.txt', '--name', 'library', '--model', 'mixed');
  assert.is(made.code, 0, made.errors);
  assert.is(made.out, 'library.jsonl\nlibrary-validation.jsonl\n');
  assert.match(made.errors, /1 rows, 1 for validation; 4 dropped, 0 answers without rows\./);
  const labels = await hone(
    ...['rows', '--name', 'labels', '--kind', 'classification', '--labels', 'animals,money'],
    ...['--model', 'labels', '--validation-share', '0', '--json'],
  );
  assert.is(labels.code, 0, labels.errors);
  assert.equal(JSON.parse(labels.out).datasets, { training: 'labels.jsonl', validation: null });
});

test('what is wrong is told, and the exit code says so', async () => {
  const scan = await hone('rows', 'scan.pdf', '--name', 'scan', '--model', 'mixed');
  assert.is(scan.code, 2);
  assert.match(scan.errors, /scan\.pdf has no text/);
  const nonsense = await hone('rows', 'fees.pdf', '--name', 'nothing', '--model', 'nonsense');
  assert.is(nonsense.code, 1);
  assert.match(nonsense.errors, /made no row \(answers: 1 of another shape/);
  assert.is(nonsense.out, '');
  const unnamed = await hone('rows', 'fees.pdf', '--model', 'mixed');
  assert.is.not(unnamed.code, 0);
  assert.match(unnamed.errors, /name/);
});

test.run();
