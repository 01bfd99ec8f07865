import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../service.ts';
import { childDeclaration, typeTemplates } from './typed-templates.ts';

const folder = join(root, 'build', `typed-templates-${process.pid}`);
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** Wrong in ways that a template hides from the compiler: the bindings of four lines, and what would be shown. */
const wrong = `
import { html, nothing } from 'lit';
import { keyedRow } from './elements/child.ts';
export const bad = [
  html\`<hone-chart .xs=\${'many'}></hone-chart>\`,
  html\`<hone-copy .txt=\${'a'}></hone-copy>\`,
  html\`<hone-nothing .text=\${'a'}></hone-nothing>\`,
  html\`<p class=\${{ a: 1 }}><button ?disabled=\${'no'} @click=\${3}>a</button></p>\`,
  html\`<p>\${new Date()}</p>\`,
  html\`<p>\${{ text: 'a' }}</p>\`,
  html\`\${() => 'a'}\`,
  html\`<p>a \${Promise.resolve('a')}</p>\`,
  html\`<p>\${[1].includes(1)}</p>\`,
  html\`<p title="b">\${[1].find((one) => one > 1)}</p>\`,
  html\`<p>\${[1].length > 0 ? 'a' : null}</p>\`,
  html\`<p>\${Symbol('a')}</p>\`,
  html\`<ul>\${[1].map((one) => [html\`<li>\${one > 1}</li>\`])}</ul>\`,
  html\`<ul>\${[1].map((one) => (one > 1 ? html\`<li></li>\` : undefined))}</ul>\`,
  html\`<p \${'hidden'}>a</p>\`,
];
export const good = [
  html\`\${'a'}<p>\${1} \${nothing}</p><p title="\${1} > \${2}">\${[html\`\${1}\`, 'a', nothing]}</p>\`,
  html\`<ul>\${keyedRow([1], (one) => one, (one) => html\`<li>\${one}</li>\`)}</ul>\`,
];
`;

test('every expression of every template has the type of what it is bound to, or makes sense between tags', () => {
  for (const name of readdirSync(join(root, 'ui'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    const target = join(folder, 'ui', name);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, typeTemplates(readFileSync(join(root, 'ui', name), 'utf8')));
  }
  symlinkSync(join(root, 'src'), join(folder, 'src'), 'junction');
  writeFileSync(join(folder, 'ui', 'template-child.d.ts'), childDeclaration);
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
  const wrongLines = [...wrong.slice(0, wrong.indexOf('];')).matchAll(/^ {2}html/gm)].map(
    (_, index) => 5 + index,
  );
  assert.equal([...new Set(lines)], wrongLines, expected.join('\n'));
  // One line is wrong in three ways.
  assert.is(expected.length, wrongLines.length + 2, expected.join('\n'));
});

test.run();
