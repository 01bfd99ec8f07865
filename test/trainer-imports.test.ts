/** The trainer's imports keep the floors in CONTRIBUTING.md, which this reads. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findCycle } from './find-cycle.ts';
import { root } from './folders.ts';

const importLine =
  /^[ \t]*(?:from[ \t]+(trainer[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n(]+)|import[ \t]+(trainer[^\n]*))/gm;
const relativeImport = /^[ \t]*from[ \t]+\.+[\w.]*[ \t]+import\b/m;

/** The rows of the table of floors, the highest first. */
function readFloors(text: string): string[][] {
  const section = text.split(/^## /m).find((part) => part.startsWith("The trainer's floors\n"));
  const rows = [...(section ?? '').matchAll(/^\| \d+ \| (.+) \|$/gm)];
  return rows.map(([, rooms = '']) => rooms.split(', '));
}

/** The modules of the package without its tests, with their source. */
function readModules(): Map<string, string> {
  const files = readdirSync(join(root, 'trainer'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.py'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((file) => !/^trainer\/(?:tests|\.venv)\//.test(file));
  return new Map(
    files
      .sort()
      .map((file) => [
        file.replace(/(?:\/__init__)?\.py$/, '').replaceAll('/', '.'),
        readFileSync(join(root, file), 'utf8'),
      ]),
  );
}

/** The modules of `known` that a source imports: also inside functions, and for types. */
function importsOf(source: string, known: ReadonlyMap<string, unknown>): string[] {
  const found = [...source.matchAll(importLine)].flatMap(([, from, names = '', plain]) =>
    plain === undefined
      ? nameList(names).map((name) => (known.has(`${from}.${name}`) ? `${from}.${name}` : (from as string)))
      : nameList(plain),
  );
  return [...new Set(found)].filter((name) => name !== 'trainer');
}

/** `a as b, c` in parentheses or not, with comments: `a` and `c`. */
const nameList = (text: string): string[] =>
  text
    .replaceAll(/#[^\n]*/g, '')
    .replaceAll(/[()]/g, '')
    .split(',')
    .map((name) => (name.trim().split(/\s/)[0] ?? '').trim())
    .filter((name) => name !== '');

const roomOf = (module: string): string => module.split('.')[1] ?? 'trainer';

/** What is wrong with an import from one module in another one, or null. */
function fault(floors: readonly string[][], from: string, to: string): string | null {
  const [above, below] = [roomOf(from), roomOf(to)];
  if (above === below) return null;
  const [own, its] = [above, below].map((room) => floors.findIndex((rooms) => rooms.includes(room)));
  return own !== -1 && (own as number) < (its as number) ? null : `${above} may not import ${below}`;
}

const floors = readFloors(readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8'));
const modules = readModules();
const graph = new Map([...modules].map(([name, source]) => [name, importsOf(source, modules)]));

test('the table has every room of the trainer, each once', () => {
  const rooms = new Set([...modules.keys()].filter((name) => name !== 'trainer').map(roomOf));
  assert.equal(floors.flat().sort(), [...rooms].sort());
});

test('a room imports only those on floors below its own', () => {
  const faults = [...graph].flatMap(([from, imported]) =>
    imported
      .map((to) => ({ to, what: fault(floors, from, to) }))
      .filter(({ what }) => what !== null)
      .map(({ to, what }) => `${from} imports ${to}: ${what}`),
  );
  assert.is(faults.join('\n'), '');
});

test('there are no cycles', () => assert.is((findCycle(graph) ?? []).join(' → '), ''));

test('every import names a module of the package from its root', () => {
  for (const [from, imported] of graph) {
    for (const to of imported) assert.ok(modules.has(to), `${from} imports ${to}, which is no module`);
    assert.not.match(modules.get(from) as string, relativeImport);
  }
});

test('the reader sees every way to import', () => {
  const known = new Map(
    ['trainer', 'trainer.a', 'trainer.a.b', 'trainer.a.c', 'trainer.d'].map((n) => [n, '']),
  );
  const source = [
    'import trainer.d',
    'from trainer import a',
    'from trainer.a.b import name',
    'if TYPE_CHECKING:',
    '    from trainer.a import (',
    '        c as other,  # a comment, with a comma',
    '    )',
    'def function():',
    '    from trainer.a import b, name',
    'text = "from trainer.e import f"',
  ].join('\n');
  assert.equal(importsOf(source, known).sort(), ['trainer.a', 'trainer.a.b', 'trainer.a.c', 'trainer.d']);
});

test('upward imports, those on one floor and unknown rooms are refused', () => {
  const table = [['run'], ['data', 'model'], ['protocol']];
  assert.is(fault(table, 'trainer.run', 'trainer.protocol.stop'), null);
  assert.is(fault(table, 'trainer.data.rows', 'trainer.data.template'), null);
  for (const [from, to] of [
    ['trainer.data.rows', 'trainer.run'],
    ['trainer.data.rows', 'trainer.model.view'],
    ['trainer.data.rows', 'trainer.attic'],
    ['trainer.attic', 'trainer.protocol.stop'],
  ] as const) {
    assert.ok(fault(table, from, to), `${from} imports ${to}`);
  }
});

test.run();
