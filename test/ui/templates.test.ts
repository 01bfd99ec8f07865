import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../service.ts';
import { typeTemplates } from './typed-templates.ts';

const folder = join(root, 'build', `typed-templates-${process.pid}`);
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** Wrong in four ways that a template hides from the compiler. */
const wrong = `
import { html } from 'lit';
export const bad = [
  html\`<hone-chart .steps=\${'many'}></hone-chart>\`,
  html\`<hone-copy .txt=\${'a'}></hone-copy>\`,
  html\`<hone-nothing .text=\${'a'}></hone-nothing>\`,
  html\`<p class=\${{ a: 1 }}><button ?disabled=\${'no'} @click=\${3}>a</button></p>\`,
];
`;

test('every binding of every template has the type of what it is bound to', () => {
  for (const name of readdirSync(join(root, 'ui'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const target = join(folder, 'ui', name);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, typeTemplates(readFileSync(join(root, 'ui', name), 'utf8')));
  }
  symlinkSync(join(root, 'src'), join(folder, 'src'), 'junction');
  writeFileSync(join(folder, 'ui', 'wrong.ts'), typeTemplates(wrong));
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', include: ['ui'] }),
  );
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '--noEmit', '-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  const told = stdout.split('\n').filter((line) => / error TS/.test(line));
  const expected = told.filter((line) => /ui[/\\]wrong\.ts/.test(line));
  assert.equal(
    told.filter((line) => !expected.includes(line)),
    [],
  );
  const lines = expected.map((line) => Number(/\((\d+),/.exec(line)?.[1]));
  assert.equal([...new Set(lines)], [4, 5, 6, 7], expected.join('\n'));
  assert.is(expected.length, 6, expected.join('\n'));
});

test.run();
