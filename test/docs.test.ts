/** Links in the documentation have a target, and files have what it says of them. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from './folders.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
/** The files of the tree that match `pathspec`, without those that git ignores. */
const list = (pathspec: string) =>
  execFileSync('git', ['ls-files', '-co', '--exclude-standard', pathspec], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(root, file)));
const pages = list('*.md');

/** The anchor that GitHub generates for a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
const headingsOf = (text: string) => [...text.matchAll(/^#+ (.+)$/gm)].map((match) => match[1] as string);

test('every relative link of a Markdown page has a target', () => {
  assert.ok(pages.includes('README.md'));
  const broken: string[] = [];
  for (const page of pages) {
    // Code blocks may contain text that looks like a link.
    const text = read(page).replace(/^```[\s\S]*?^```$/gm, '');
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : join(dirname(page), path);
      const hasAnchor = () =>
        headingsOf(read(file))
          .map(anchorOf)
          .includes(anchor as string);
      if (!existsSync(join(root, file)) || (anchor !== undefined && !hasAnchor())) {
        broken.push(`${page}: ${target}`);
      }
    }
  }
  assert.equal(broken, []);
});

test('the files that reach into a library have the names that docs/releasing.md tells', () => {
  const [, table = ''] = read('docs/releasing.md').split('### What reaches into a library');
  const rows = [...table.matchAll(/^\| [^|]+ \| ((?:trainer|src)\/[^|]+) \| (.+) \|$/gm)];
  const listed = rows.map(([, file]) => file);
  for (const file of list('trainer/libraries/*.py').filter((name) => !/__init__|versions/.test(name))) {
    assert.ok(listed.includes(file), `${file} is not in the table`);
  }
  for (const [, file = '', names = ''] of rows) {
    const text = read(file);
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g))
      assert.ok(text.includes(name), `${file}: ${name}`);
  }
});

test('private attributes of libraries are used in trainer/libraries/ alone', () => {
  const others = list('trainer/*.py').filter(
    // The converter's classes are extended in convert.py.
    (file) => !/^trainer\/(?:tests|libraries)\/|\/gguf\/convert\.py$/.test(file),
  );
  assert.ok(others.length > 150);
  const found = others.flatMap((file) =>
    [...read(file).matchAll(/^.*(?<!\b(?:self|cls|os))\._[a-z]\w+.*$/gm)].map(
      ([line]) => `${file}: ${line.trim()}`,
    ),
  );
  assert.equal(found, []);
});

test.run();
