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
 */
const service = [packages, converter, addon, bundles, python, accelerated];
const plans = {
  stop: [packages, bundles],
  test: [...service, testTools, chromium],
  'test:long': [...service, testTools, chromium],
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
  const plan = plans[verb] ?? service;
  const retry = strict.has(verb);
  if (!plan.some((step) => isStale(step, retry))) return true;

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
    return await runPlan(plan, progress, verb);
  } finally {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
    release();
  }
}

async function runPlan(plan, progress, verb) {
  const retry = strict.has(verb);
  let stale = plan.filter((step) => isStale(step, retry));
  // What other steps are made from comes with the packages: with those, all may be out of date.
  if (stale.includes(packages)) stale = plan;
  const missing = missingPrerequisites(stale.flatMap((step) => step.needs));
  if (missing.length > 0) {
    progress.say('Hone needs what is not on this machine:');
    for (const { what, install } of missing) progress.say(`  ${what}\n      ${install}`);
    return false;
  }
  for (const [index, step] of stale.entries()) {
    if (!isStale(step, retry)) continue;
    progress.begin(index + 1, stale.length, step.title);
    removeStamp(step.name);
    try {
      const note = await step.run(progress);
      writeStamp(step.name, step.from());
      progress.done(note);
    } catch (error) {
      progress.fail(error);
      if (!step.optional || (verb.startsWith('test') && step !== chromium)) return false;
      progress.say('    Hone goes on without it; `npm run doctor` tries again.');
      writeStamp(step.name, FAILED + step.from());
    }
  }
  return true;
}
