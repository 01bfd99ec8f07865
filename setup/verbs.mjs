import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { inRoot } from './paths.mjs';
import { runNode } from './run-node.mjs';

/** What runs a command: a bundle in this process, or a TypeScript program in a child. */
const bundles = {
  serve: ['main.js', 'serve'],
  stop: ['main.js', 'stop'],
  key: ['main.js', 'key'],
  'judge-key': ['main.js', 'judge-key'],
  track: ['main.js', 'track'],
  mask: ['main.js', 'mask'],
  import: ['main.js', 'import'],
  cluster: ['main.js', 'cluster'],
  join: ['main.js', 'join'],
  mcp: ['main.js', 'mcp'],
  doctor: ['main.js', 'doctor'],
  report: ['main.js', 'report'],
  demo: ['demo.js'],
};
const programs = {
  generate: ['src/generate.ts'],
  test: ['test/run.ts'],
  check: ['test/run.ts', '--check'],
  'test:long': ['test/run.ts', '--long'],
  'test:real': ['test/run.ts', '--real'],
  'test:nodes': ['test/nodes.ts'],
  bench: ['bench/main.ts'],
  package: ['setup/package/pack.mjs'],
};

/**
 * Runs a command. A bundle runs in this process, so that signals and the exit code are its own.
 * @returns the exit code, or undefined if the command sets it.
 */
export async function runVerb(verb, args) {
  const [file, ...fixed] = bundles[verb] ?? programs[verb];
  const path = bundles[verb] ? inRoot('dist', file) : inRoot(file);
  if (!existsSync(path)) {
    console.error(`hone: "${verb}" is not part of this version (${path} is missing).`);
    return 1;
  }
  if (programs[verb]) {
    return runNode(process.execPath, ['--import', 'tsx', path, ...fixed, ...args], { cwd: inRoot() });
  }
  process.setSourceMapsEnabled(true);
  process.argv = [process.argv[0], path, ...fixed, ...args];
  await import(pathToFileURL(path).href);
  return undefined;
}

/** Runs a command that is a client of the service; only what is missing is set up first. @returns the exit code. */
export async function runClient(verb, args) {
  const program = inRoot('dist', 'cli.js');
  const setUp = async (plan) => (await import('./set-up.mjs')).setUp(plan);
  if (!existsSync(program) && !(await setUp('client'))) return 1;
  const { run } = await import(pathToFileURL(program).href);
  return run([verb, ...args], () => setUp('serve'));
}
