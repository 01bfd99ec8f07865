/** Links in the documentation have a target, and files have what it says of them. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from './folders.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter(Boolean);

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
  assert.ok(rows.length > 20);
  for (const [, files = '', names = ''] of rows) {
    for (const file of files.split(', ')) {
      const text = read(file);
      for (const [, name = ''] of names.matchAll(/`(\w+)`/g))
        assert.ok(text.includes(name), `${file}: ${name}`);
    }
  }
});

test.run();
