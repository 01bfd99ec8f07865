import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

/** An import as the source has it: `typeOnly` when nothing of it is left at run time. */
interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const adapters = ['db', 'trainer', 'inference', 'hub', 'hardware'];
const rooms = ['http', 'domain', ...adapters, 'demo'];

/** What each room may import of the others: the table of CONTRIBUTING.md. */
const mayImport: Record<string, readonly string[]> = {
  main: ['main', 'config', 'errors', 'http', 'domain', 'api', ...adapters],
  api: ['http', 'domain', 'errors'],
  domain: [...adapters, 'errors'],
  http: ['config', 'errors'],
  ...Object.fromEntries(adapters.map((room) => [room, ['config', 'errors']])),
  demo: [],
  config: ['errors'],
  errors: [],
};

/** Libraries that one room alone may import. */
const ownLibrary: Record<string, string> = {
  'uWebSockets.js': 'http',
  'better-sqlite3': 'db',
  'node-llama-cpp': 'inference',
  '@huggingface/hub': 'hub',
};

const importLine =
  /^\s*(?:import|export)\s+(type\s)?(?:[^'"();]*?\sfrom\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

function importsOf(text: string): Import[] {
  return [...text.matchAll(importLine)].map(([, type, named, called]) => ({
    specifier: (named ?? called) as string,
    typeOnly: type !== undefined,
  }));
}

/** The room of a file: a folder of src, a face of the API, `config`, `errors`, or `main` for what wires. */
function roomOf(file: string): string {
  if (file.startsWith('ui/')) return 'ui';
  const [, first = '', second = ''] = file.split('/');
  if (first === 'api') return `api/${second}`;
  if (rooms.includes(first)) return first;
  if (file === 'src/config.ts') return 'config';
  if (file === 'src/errors.ts') return 'errors';
  return file.split('/').length === 2 ? 'main' : `unknown room ${first}`;
}

/** What is wrong with one import, or null. */
function fault(file: string, { specifier, typeOnly }: Import): string | null {
  const from = roomOf(file);
  if (!specifier.startsWith('.')) {
    const owner = Object.entries(ownLibrary).find(([name]) => `${specifier}/`.startsWith(`${name}/`));
    return owner && owner[1] !== from ? `only ${owner[1]} may import ${specifier}` : null;
  }
  const target = posix.normalize(posix.join(posix.dirname(file), specifier));
  const to = roomOf(target);
  if (from === to) return null;
  if (from === 'ui') {
    const described = /^src\/(api\/[^/]+\/(schemas|face)|http\/route)\.ts$/.test(target);
    return typeOnly && described ? null : 'ui may import its own, and types of the route tables';
  }
  const allowed = mayImport[from.split('/')[0] as string];
  if (allowed === undefined) return `${from} is no room of the house`;
  return allowed.includes(to.split('/')[0] as string) ? null : `${from} may not import ${to}`;
}

/** The first circle of imports, as a path, or null. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const next of graph.get(file) ?? []) {
      const found = visit(next, [...path, file]);
      if (found !== null) return found;
    }
    done.add(file);
    return null;
  };
  for (const file of graph.keys()) {
    const found = visit(file, []);
    if (found !== null) return found;
  }
  return null;
}

const files = [...sources('src'), ...sources('ui')];
const parsed = new Map(files.map((file) => [file, importsOf(readFileSync(join(root, file), 'utf8'))]));

test('every import keeps the table', () => {
  const faults = [...parsed].flatMap(([file, list]) =>
    list
      .map((one) => ({ one, what: fault(file, one) }))
      .filter(({ what }) => what !== null)
      .map(({ one, what }) => `${file} imports ${one.specifier}: ${what}`),
  );
  assert.is(faults.join('\n'), '');
});

test('there are no cycles', () => {
  const graph = new Map(
    [...parsed].map(([file, list]) => [
      file,
      list
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.normalize(posix.join(posix.dirname(file), specifier))),
    ]),
  );
  assert.is((findCycle(graph) ?? []).join(' → '), '');
});

test('the reader sees every way to import', () => {
  const text = [
    "import a from './a.ts';",
    "import type { B } from './b.ts';",
    "import './c.ts';",
    "export * from './d.ts';",
    'import {',
    '  e,',
    "} from './e.ts';",
    "const f = await import('./f.ts');",
  ].join('\n');
  const found = importsOf(text);
  assert.equal(
    found.map(({ specifier }) => specifier),
    ['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts', './f.ts'],
  );
  assert.equal(
    found.filter(({ typeOnly }) => typeOnly).map(({ specifier }) => specifier),
    ['./b.ts'],
  );
});

test('the table refuses what it should', () => {
  const refused = (file: string, specifier: string, typeOnly = false) =>
    assert.type(fault(file, { specifier, typeOnly }), 'string', `${file} imports ${specifier}`);
  refused('src/demo/main.ts', '../errors.ts');
  refused('src/api/flat/face.ts', '../finetune/schemas.ts');
  refused('src/db/jobs.ts', '../domain/job.ts');
  refused('src/db/jobs.ts', '../hub/model-info.ts');
  refused('src/domain/jobs.ts', '../http/route.ts');
  refused('src/domain/jobs.ts', '../api/flat/face.ts');
  refused('src/main.ts', './demo/main.ts');
  refused('src/domain/jobs.ts', 'better-sqlite3');
  refused('ui/api/client.ts', '../../src/api/flat/schemas.ts');
  refused('ui/api/client.ts', '../../src/api/flat/face.ts');
  refused('ui/api/client.ts', '../../src/domain/job.ts', true);
  assert.is(fault('ui/api/client.ts', { specifier: '../../src/api/flat/face.ts', typeOnly: true }), null);
  assert.is(fault('ui/api/client.ts', { specifier: '../../src/api/flat/schemas.ts', typeOnly: true }), null);
  assert.is(fault('src/main.ts', { specifier: './db/store.ts', typeOnly: false }), null);
  assert.equal(
    findCycle(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['b']],
      ]),
    ),
    ['b', 'c', 'b'],
  );
});

test.run();
