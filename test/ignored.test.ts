/** Git ignores everything that setup, a test or a tool leaves in the tree, and none of our own files. */
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from './service.ts';

const leftovers = [
  'node_modules',
  'trainer/.venv',
  'build/tiny/config.json',
  'dist/main.js',
  'trainer/__pycache__/run.cpython-311.pyc',
  'trainer/hone_trainer.egg-info/PKG-INFO',
  '.pytest_cache/CACHEDIR.TAG',
  'trainer/.pytest_cache/CACHEDIR.TAG',
  '.ruff_cache/CACHEDIR.TAG',
  '.hypothesis/unicode_data/data.json',
  'trainer/.hypothesis/constants',
  '.schemathesis/cache.json',
  'schemathesis-report/junit.xml',
  'test-results/.last-run.json',
  '.coverage',
  'coverage/index.html',
  '.cache/clangd/index',
  'compile_commands.json',
  '.env',
  'tsconfig.tsbuildinfo',
  'npm-debug.log',
];

test('what is left in the tree is ignored', () => {
  const { stdout } = spawnSync('git', ['check-ignore', '--no-index', '--stdin'], {
    cwd: root,
    input: leftovers.join('\n'),
    encoding: 'utf8',
  });
  const ignored = stdout.split('\n');
  assert.equal(
    leftovers.filter((path) => !ignored.includes(path)),
    [],
  );
});

test('no file of the repository is', () => {
  const listed = execFileSync('git', ['ls-files', '--cached', '--ignored', '--exclude-standard'], {
    cwd: root,
  });
  assert.is(listed.toString(), '');
});

test.run();
