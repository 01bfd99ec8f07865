import { existsSync } from 'node:fs';
import { takeLock } from './lock.mjs';
import { inRoot } from './paths.mjs';
import { missingPrerequisites } from './prerequisites.mjs';
import { createProgress } from './progress.mjs';
import { readStamp, removeStamp, writeStamp } from './stamp.mjs';
import { accelerated } from './steps/accelerated.mjs';
import { addon } from './steps/addon.mjs';
import { bundles } from './steps/bundles.mjs';
import { chromium } from './steps/chromium.mjs';
import { converter } from './steps/converter.mjs';
import { packages } from './steps/packages.mjs';
import { python } from './steps/python.mjs';
import { testTools } from './steps/test-tools.mjs';
import { endTools } from './tool.mjs';

/**
 * A step is { name, title, from(), makes, needs, optional, run(progress) }: `from()` is a digest of what it
 * is made from, `makes` the paths that must be there afterwards, `needs` the prerequisites, and `run`
 * does the work; what `run` returns is said behind the title. A step that is `optional` for running the
 * service warns when it fails and is tried again by `test` and `doctor`.
 *
 * The lanes of a plan are independent and run side by side: one waits for the network while another
 * compiles.
 */
const forNode = [packages, converter, addon, bundles];
const forPython = [python, accelerated];
const service = [forNode, forPython];
const tests = [
  [...forNode, chromium],
  [...forPython, testTools],
];
const plans = {
  stop: [[packages, bundles]],
  bench: [forNode, [...forPython, testTools]],
  test: tests,
  'test:long': tests,
};
const strict = new Set(['test', 'test:long', 'doctor']);
const FAILED = 'failed ';

/** Whether a step must run; a failure of an optional step stands until somebody asks for everything. */
function isStale(step, retry) {
  const stamp = readStamp(step.name);
  const from = step.from();
  if (stamp === FAILED + from) return retry;
  return stamp !== from || !step.makes.every((path) => existsSync(inRoot(path)));
}

/**
 * Makes what a verb needs and what is not there or out of date.
 * @returns whether the verb can run; what is wrong has been said.
 */
export async function setUp(verb) {
  const lanes = plans[verb] ?? service;
  const retry = strict.has(verb);
  if (!lanes.flat().some((step) => isStale(step, retry))) return true;

  const progress = createProgress();
  const release = await takeLock(inRoot('build', 'set-up.lock'), (pid) =>
    progress.say(`Another set-up is at work (process ${pid}); waiting for it …`),
  );
  const end = (signal) => {
    endTools(signal);
    release();
    process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  try {
    return await runLanes(lanes, progress, verb);
  } finally {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
    release();
  }
}

async function runLanes(lanes, progress, verb) {
  const retry = strict.has(verb);
  let stale = lanes.flat().filter((step) => isStale(step, retry));
  // What the steps after it are made from comes with the packages: with those, all may be out of date.
  if (stale.includes(packages)) stale = lanes.flat();
  const missing = missingPrerequisites(stale.flatMap((step) => step.needs));
  if (missing.length > 0) {
    progress.say('Hone needs what is not on this machine:');
    for (const { what, install } of missing) progress.say(`  ${what}\n      ${install}`);
    return false;
  }
  let failed = false;
  const runLane = async (lane) => {
    for (const step of lane.filter((candidate) => stale.includes(candidate))) {
      if (failed) return;
      if (!isStale(step, retry)) continue;
      const shown = progress.begin(`[${stale.indexOf(step) + 1}/${stale.length}] ${step.title}`);
      removeStamp(step.name);
      try {
        const note = await step.run(shown);
        writeStamp(step.name, step.from());
        shown.done(note);
      } catch (error) {
        if (failed) {
          shown.done('given up');
          return;
        }
        shown.fail(error);
        if (!step.optional || (verb.startsWith('test') && step !== chromium)) {
          failed = true;
          endTools('SIGTERM');
          return;
        }
        progress.say('    Hone goes on without it; `npm run doctor` tries again.');
        writeStamp(step.name, FAILED + step.from());
      }
    }
  };
  await Promise.all(lanes.map(runLane));
  return !failed;
}
