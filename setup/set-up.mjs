import { existsSync } from 'node:fs';
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
import { uws } from './steps/uws.mjs';
import { endTools } from './tool.mjs';
import { Unavailable } from './unavailable.mjs';
import { underLock } from './under-lock.mjs';

/**
 * A step is { name, title, from(), makes, needs, optional, run(progress) }: `from()` is a digest of its inputs, `makes`
 * the paths that must exist afterwards, `needs` the prerequisites, and `run` does the work and returns a note. An
 * `optional` step only warns when it fails, and `test` and `doctor` try it again. It is skipped while prerequisites are
 * missing; `without` says what then does not work.
 *
 * The lanes of a plan are independent and run in parallel: one can download while another compiles.
 */
const forNode = [packages, converter, addon, bundles];
const forPython = [python, accelerated];
const service = [forNode, forPython, [uws]];
const tests = [[...forNode, chromium], [...forPython, testTools], [uws]];
const plans = {
  client: [[packages, bundles]],
  stop: [[packages, bundles]],
  key: [[packages, bundles]],
  report: [[packages, bundles]],
  track: [[packages, bundles], [python]],
  mask: [[packages, bundles], [python]],
  cluster: [[packages, bundles], forPython],
  join: [[packages, bundles], forPython],
  generate: [[packages]],
  package: [[packages, bundles]],
  bench: [forNode, [...forPython, testTools], [uws]],
  check: [
    [packages, converter, addon],
    [python, testTools],
  ],
  test: tests,
  'test:long': tests,
  'test:real': tests,
  'test:nodes': tests,
};
const strict = new Set(['check', 'test', 'test:long', 'test:real', 'doctor']);
/** Stamps of steps that are not done, followed by the digest of their inputs. */
const FAILED = 'failed ';
const LACKING = 'lacking ';
const UNAVAILABLE = 'unavailable ';

/** Whether a step must run; one that could not be done waits until something changes. */
function isStale(step, verb) {
  const stamp = readStamp(step.name);
  const from = step.from();
  if (stamp === FAILED + from) return strict.has(verb);
  if (stamp === UNAVAILABLE + from) return verb === 'doctor';
  if (stamp === LACKING + from) return strict.has(verb) || missingPrerequisites(step.needs).length === 0;
  return stamp !== from || !step.makes.every((path) => existsSync(inRoot(path)));
}

/** Whether a command works without a step. */
const canMiss = (step, verb) =>
  step.optional && (!(verb === 'check' || verb.startsWith('test')) || step === chromium);

/** The names of the steps of `hone setup`. */
export const stepNames = service.flat().map(({ name }) => name);

/**
 * Runs the steps that a command needs and that are missing or out of date.
 * @param names of the only steps to run; all where there are none.
 * @returns whether the command can run; errors have been reported.
 */
export async function setUp(verb, names = []) {
  // In an image everything is there, and its files cannot be written.
  if (process.env.HONE_IMAGE !== undefined) return true;
  const isWanted = ({ name }) => names.length === 0 || names.includes(name);
  const lanes = (plans[verb] ?? service).map((lane) => lane.filter(isWanted));
  if (!lanes.flat().some((step) => isStale(step, verb))) return true;

  const progress = createProgress();
  return underLock(progress, () => runLanes(lanes, progress, verb));
}

async function runLanes(lanes, progress, verb) {
  let stale = lanes.flat().filter((step) => isStale(step, verb));
  // Later steps use files of the packages, so they may be out of date after these.
  if (stale.includes(packages)) stale = lanes.flat();
  const needed = stale.filter((step) => !canMiss(step, verb));
  if (missingPrerequisites(needed.flatMap((step) => step.needs)).length > 0) {
    progress.say('Hone needs programs that are not installed:');
    // Report all of them at once, including optional ones.
    sayMissing(
      progress,
      stale.flatMap((step) => step.needs),
    );
    return false;
  }
  let failed = false;
  const runLane = async (lane) => {
    for (const step of lane.filter((candidate) => stale.includes(candidate))) {
      if (failed) return;
      if (!isStale(step, verb)) continue;
      const label = `[${stale.indexOf(step) + 1}/${stale.length}] ${step.title}`;
      removeStamp(step.name);
      if (missingPrerequisites(step.needs).length > 0) {
        progress.say(`${label}: skipped (${step.without}); missing:`);
        sayMissing(progress, step.needs);
        writeStamp(step.name, LACKING + step.from());
        continue;
      }
      const shown = progress.begin(label);
      try {
        const note = await step.run(shown);
        writeStamp(step.name, step.from());
        shown.done(note);
      } catch (error) {
        if (failed) {
          shown.done('not available');
          return;
        }
        if (error instanceof Unavailable) {
          shown.done(error.message);
          writeStamp(step.name, UNAVAILABLE + step.from());
          continue;
        }
        shown.fail(error);
        if (!canMiss(step, verb)) {
          failed = true;
          endTools('SIGTERM');
          return;
        }
        progress.say('    Hone works without it; `npm run doctor` tries again.');
        writeStamp(step.name, FAILED + step.from());
      }
    }
  };
  await Promise.all(lanes.map(runLane));
  return !failed;
}

function sayMissing(progress, names) {
  for (const { what, install } of missingPrerequisites(names)) {
    progress.say(`  ${what}\n      ${install}`);
  }
}
