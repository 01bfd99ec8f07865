import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { inRoot } from './paths.mjs';

/** What runs a verb: a bundle inside this process, or a TypeScript program in its own. */
const bundles = {
  serve: ['main.js', 'serve'],
  stop: ['main.js', 'stop'],
  doctor: ['main.js', 'doctor'],
  demo: ['demo.js'],
};
const programs = {
  test: ['test/run.ts'],
  'test:long': ['test/run.ts', '--long'],
  bench: ['bench/main.ts'],
};

/**
 * Runs a verb. A bundle runs in this very process, so that signals, exit code and memory are its own.
 * @returns the exit code, or undefined when what was started decides it.
 */
export async function runVerb(verb, args) {
  const [file, ...fixed] = bundles[verb] ?? programs[verb];
  const path = bundles[verb] ? inRoot('dist', file) : inRoot(file);
  if (!existsSync(path)) {
    console.error(`hone: "${verb}" is not part of this version (${path} is missing).`);
    return 1;
  }
  if (programs[verb]) return runProgram(path, [...fixed, ...args]);
  process.setSourceMapsEnabled(true);
  process.argv = [process.argv[0], path, ...fixed, ...args];
  await import(pathToFileURL(path).href);
  return undefined;
}

function runProgram(path, args) {
  const child = spawn(process.execPath, ['--import', 'tsx', path, ...args], {
    cwd: inRoot(),
    stdio: 'inherit',
  });
  // A terminal sends Ctrl+C to the child as well; a signal that was sent to this process alone is passed on.
  const pass = (signal) => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, pass);
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(`hone: ${error.message}`);
      resolve(1);
    });
    child.on('exit', (code, signal) => resolve(signal === null ? code : 1));
  });
}
