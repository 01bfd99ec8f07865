import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findCycle } from './find-cycle.ts';

/** An import in a source file; `typeOnly` if it is erased at compile time. */
interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const adapters = [
  'db',
  'trainer',
  'inference',
  'hub',
  'openai-source',
  'remote-model',
  'webhook',
  'hardware',
  'native',
];
const rooms = [
  'contract',
  'http',
  'domain',
  ...adapters,
  'client',
  'cli',
  'demo',
  'commands',
  'compose',
  'programs',
];
const belowCompose = ['contract', 'config', 'logger', 'errors', 'http', 'domain', ...adapters];

/** What each room may import from the others, as in the table of CONTRIBUTING.md. */
const mayImport: Record<string, readonly string[]> = {
  contract: [],
  main: ['commands', 'compose', 'programs', 'api', 'cli', 'client', ...belowCompose],
  commands: ['compose', 'api', 'client', ...belowCompose],
  compose: belowCompose,
  programs: ['db', 'native', 'hardware', 'errors'],
  logger: ['config'],
  api: ['contract', 'http', 'domain', 'errors'],
  domain: ['contract', ...adapters, 'errors'],
  http: ['contract', 'config', 'errors'],
  ...Object.fromEntries(adapters.map((room) => [room, ['contract', 'config', 'errors']])),
  // It loads the addon, which also contains the functions for GPUs and metrics that hardware uses.
  hardware: ['contract', 'config', 'errors', 'native'],
  client: ['contract'],
  cli: ['client', 'contract', 'config', 'logger', 'errors'],
  demo: ['client', 'contract'],
  config: ['contract', 'errors'],
  errors: [],
};

/** The layers within a room, from the bottom up: a folder may import itself and the layers below. */
const floors: Record<string, readonly string[]> = {
  'src/domain': [
    'job-record',
    'events',
    'machine',
    'bin',
    'base-models',
    'access',
    'datasets',
    'graders',
    'traffic',
    'training',
    'remote-models',
    'models',
    'checkpoints',
    'playground',
    'jobs',
    'fine-tuning',
    'evals',
    'documents',
    'moving',
    'sweeps',
    'evaluations',
    'budgets',
  ],
  'src/inference': ['gguf', 'template', 'protocol', 'batching', 'worker', 'engine'],
  ui: ['api', 'state', 'elements', 'charts', 'settings', 'views', 'pages'],
};

/** Libraries, and the path prefixes of the only files that may import them. */
const ownLibrary: Record<string, readonly string[]> = {
  'uWebSockets.js': ['src/http/engines/'],
  'node:http': ['src/http/engines/', 'src/client/local-service.ts'],
  ws: ['src/http/engines/'],
  'better-sqlite3': ['src/db/'],
  'better-sqlite3-node20': ['src/db/'],
  'node-llama-cpp': ['src/inference/'],
  '@huggingface/hub': ['src/hub/'],
  '@modelcontextprotocol/server': ['src/api/mcp/'],
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

/** The room of a file: a folder of src, an API set, `config`, `logger`, `errors`, or `main` for other files of src itself. */
function roomOf(file: string): string {
  if (file.startsWith('ui/')) return 'ui';
  const [, first = '', second = ''] = file.split('/');
  if (first === 'api') return `api/${second}`;
  if (rooms.includes(first)) return first;
  if (file === 'src/config.ts') return 'config';
  if (file === 'src/logger.ts' || file === 'src/version.ts') return 'logger';
  if (file === 'src/errors.ts' || file === 'src/faults.ts') return 'errors';
  return file.split('/').length === 2 ? 'main' : `unknown room ${first}`;
}

/** What is wrong with an import between two folders of a room, or null. */
function floorFault(file: string, target: string): string | null {
  for (const [room, order] of Object.entries(floors)) {
    if (!file.startsWith(`${room}/`) || !target.startsWith(`${room}/`)) continue;
    const [from, to] = [file, target].map((path) => path.slice(room.length + 1).split('/')) as [
      string[],
      string[],
    ];
    // Files directly in a room rank above its folders.
    const [above, below] = [from, to].map((path) =>
      path.length === 1 ? order.length : order.indexOf(path[0] as string),
    ) as [number, number];
    if (below > above) return `${room}/${from[0]} may not import ${room}/${to[0]}, which lies above it`;
    if (from[0] === 'pages' && to[0] === 'pages' && from[1] !== to[1]) {
      return 'a page may not import another page';
    }
  }
  return null;
}

/** What is wrong with one import, or null. */
function fault(file: string, { specifier, typeOnly }: Import): string | null {
  const from = roomOf(file);
  if (!specifier.startsWith('.')) {
    const owner = Object.entries(ownLibrary).find(([name]) => `${specifier}/`.startsWith(`${name}/`));
    if (from === 'contract') return 'contract may import its own files alone';
    return owner && !owner[1].some((start) => file.startsWith(start))
      ? `only ${owner[1].join(' and ')} may import ${specifier}`
      : null;
  }
  const target = posix.normalize(posix.join(posix.dirname(file), specifier));
  const to = roomOf(target);
  if (from === to) return floorFault(file, target);
  if (from === 'contract') return 'contract may import its own files alone';
  if (from === 'ui') {
    if (to === 'contract') return null;
    const described = /^src\/(api\/[^/]+\/([^/]+\/)?(schemas|face)|http\/route)\.ts$/.test(target);
    return typeOnly && described ? null : 'ui may import its own, contract, and types of the route tables';
  }
  const allowed = mayImport[from.split('/')[0] as string];
  if (allowed === undefined) return `${from} is no room of the house`;
  return allowed.includes(to.split('/')[0] as string) ? null : `${from} may not import ${to}`;
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
  const bench = sources('bench').map(
    (file) => [file, importsOf(readFileSync(join(root, file), 'utf8'))] as const,
  );
  const graph = new Map(
    [...parsed, ...bench].map(([file, list]) => [
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

/** The most files of a folder, besides the marker of a Python package; one that has more needs a second level. */
const mostFiles = 16;
const notOurs = /(^|\/)(\.venv|__pycache__|\.\w+_cache|tests)(\/|$)/;

/** The folders of the trainer, without its tests and what is installed or cached there. */
function trainerFolders(folder = 'trainer'): string[] {
  const inside = readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${folder}/${name}`)
    .filter((path) => !notOurs.test(path));
  return [folder, ...inside.flatMap((path) => trainerFolders(path))];
}

test('no literal of an object is spread into another, which only hides lines from the formatter', () => {
  const spread = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, at) => (line.includes('...{') ? [`${file}:${at + 1}`] : [])),
  );
  assert.equal(spread, []);
});

test('no folder outgrows itself', () => {
  const counts = new Map<string, number>();
  for (const room of ['src', 'ui', 'setup', ...trainerFolders()]) {
    const recursive = !room.startsWith('trainer');
    for (const entry of readdirSync(join(root, room), { recursive, withFileTypes: true })) {
      if (!entry.isFile() || entry.name === '__init__.py' || entry.name.startsWith('.')) continue;
      const folder = relative(root, entry.parentPath).split(sep).join('/');
      counts.set(folder, (counts.get(folder) ?? 0) + 1);
    }
  }
  assert.ok(counts.has('src/contract') && counts.has('trainer/export/gguf'));
  // Migrations stay.
  counts.delete('src/db/migrations');
  const tooLarge = [...counts].filter(([folder, count]) => count > (folder === 'src' ? 8 : mostFiles));
  assert.equal(tooLarge, []);
});

test('the table refuses what it should', () => {
  const refused = (file: string, specifier: string, typeOnly = false) =>
    assert.type(fault(file, { specifier, typeOnly }), 'string', `${file} imports ${specifier}`);
  refused('src/demo/main.ts', '../errors.ts');
  refused('src/api/flat/face.ts', '../finetune/schemas.ts');
  refused('src/db/tables/jobs.ts', '../../domain/job-record/job.ts');
  refused('src/db/tables/jobs.ts', '../../hub/model-info.ts');
  refused('src/domain/jobs/jobs.ts', '../../http/route.ts');
  refused('src/domain/jobs/jobs.ts', '../../api/flat/face.ts');
  refused('src/main.ts', './demo/main.ts');
  refused('src/cli/flags.ts', '../commands/request-schemas.ts');
  refused('src/compose/core.ts', '../commands/serve.ts');
  refused('src/compose/core.ts', '../api/flat/face.ts');
  refused('src/programs/backup.ts', '../domain/jobs/jobs.ts');
  refused('src/domain/jobs/jobs.ts', '../../compose/core.ts');
  refused('src/commands/stop.ts', '../main.ts');
  refused('src/domain/jobs/jobs.ts', 'better-sqlite3');
  refused('ui/api/client.ts', '../../src/api/flat/schemas.ts');
  refused('ui/api/client.ts', '../../src/api/flat/face.ts');
  refused('ui/api/client.ts', '../../src/domain/job-record/job.ts', true);
  refused('src/contract/settings.ts', '../errors.ts', true);
  refused('src/contract/settings.ts', 'valibot');
  refused('src/domain/events/frame-log.ts', '../jobs/jobs.ts');
  refused('src/domain/training/estimate/planner.ts', '../../services.ts');
  refused('src/inference/worker/worker.ts', '../engine/child.ts');
  refused('ui/elements/parts.ts', '../pages/runs/run.ts');
  refused('ui/pages/models/model.ts', '../runs/run.ts');
  assert.is(fault('ui/api/client.ts', { specifier: '../../src/api/flat/face.ts', typeOnly: true }), null);
  assert.is(fault('ui/api/client.ts', { specifier: '../../src/api/flat/schemas.ts', typeOnly: true }), null);
  assert.is(
    fault('ui/state/drafts/draft.ts', { specifier: '../../src/contract/rows.ts', typeOnly: false }),
    null,
  );
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
