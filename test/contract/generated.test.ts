import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { pythonTypes, pythonTypesPath } from '../../src/commands/python-types.ts';
import { type Setting, settingNames, settings } from '../../src/contract/settings.ts';
import { generatedBlocks, withBlocks } from '../../src/generated-docs.ts';
import { contractPath, contractText, settingsPath, settingsText } from '../../src/trainer/contract-file.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

test('the files that the trainer reads are what src/contract says; `npm run generate` writes them anew', () => {
  assert.fixture(read(contractPath), contractText());
  assert.fixture(read(settingsPath), settingsText());
  assert.fixture(read(pythonTypesPath), pythonTypes());
});

test('the generated parts of docs/ are what src/contract says; `npm run generate` writes them anew', () => {
  for (const [page, blocks] of Object.entries(generatedBlocks)) {
    assert.fixture(read(page), withBlocks(read(page), blocks), page);
  }
  assert.throws(() => withBlocks('# No comments', { journal: () => '' }), /journal/);
});

test('a setting that the golden specification lacks has its value for older jobs', () => {
  const golden = Object.keys(JSON.parse(read('test/contract/spec.golden.json')).settings);
  for (const name of settingNames) {
    assert.ok(golden.includes(name) || 'before' in settings[name], `${name}: add \`before\` to its row`);
  }
  assert.equal(
    golden.filter((name) => !Object.hasOwn(settings, name)),
    [],
  );
});

test('a setting that refers to another one names a number to derive from, or a switch that excludes it', () => {
  const rows: Readonly<Record<string, Setting>> = settings;
  for (const [name, row] of Object.entries(rows)) {
    if (row.derivedFrom !== undefined) {
      const source = rows[row.derivedFrom.setting];
      assert.ok(source?.kind === 'integer' || source?.kind === 'number', name);
      assert.not(source.derivedFrom, `${name}: a chain`);
    }
    if ('excludedBy' in row) assert.is(rows[row.excludedBy as string]?.kind, 'switch', name);
  }
});

test.run();
