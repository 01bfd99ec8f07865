/** SECURITY.md has a test for each threat and fault, under the title that it names. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from './folders.ts';

const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');
/** The cells of the rows of both tables: threat or fault, promise, tests. */
const rows = page
  .split('\n')
  .filter((line) => /^\| /.test(line) && !/^\| (threat|fault) /.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, subject = '', promise = '', tests = '']) => ({ subject, promise, tests }));

test('the tables are read', () => {
  assert.ok(rows.length > 30, `${rows.length} rows`);
});

for (const { subject, promise, tests } of rows) {
  test(`${subject}: has a promise, and a test of that title`, () => {
    assert.ok(promise.length > 0);
    const links = [...tests.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)];
    assert.ok(links.length > 0, 'a link to a test');
    for (const [, title = '', path = ''] of links) {
      assert.ok(existsSync(join(root, path)), path);
      const source = readFileSync(join(root, path), 'utf8');
      // A test of the trainer has the words of its title joined.
      const joined = `def test_${title.toLowerCase().replace(/\W+/g, '_')}`;
      assert.ok(source.includes(title) || source.includes(joined), `${path} has no test "${title}"`);
    }
  });
}

test.run();
