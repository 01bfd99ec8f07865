import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runMeasured } from '../../bench/harness/measured.ts';
import { toRecords } from '../../bench/harness/records.ts';
import { runScenario } from '../../bench/harness/run-scenario.ts';
import type { Comparison, Goal, Scenario, Side } from '../../bench/harness/scenario.ts';
import { startServer } from '../../bench/harness/server.ts';
import { compareSpread, summarize } from '../../bench/harness/statistics.ts';
import { withTable } from '../../bench/harness/text.ts';
import { root } from '../service.ts';

/** A side whose runs give these values one after the other. */
const side = (name: string, values: readonly number[], more: Partial<Side> = {}): Side => ({
  name,
  about: `a side called ${name}`,
  trial: async ({ number }) => ({ figures: { speed: values[number] as number }, answer: 42 }),
  ...more,
});

const comparison = (more: Partial<Comparison> = {}): Comparison => ({
  metric: 'speed',
  figure: 'speed',
  unit: 'm/s',
  better: 'more',
  peer: 'snail',
  goal: { times: 2 },
  ...more,
});

const scenario = (sides: Scenario['sides'], more: Partial<Scenario> = {}): Scenario => ({
  name: 'race',
  about: 'a race',
  sides,
  comparisons: [comparison()],
  warmUps: { full: 0, quick: 0 },
  runs: { full: 3, quick: 2 },
  ...more,
});

const recordOf = async (raced: Scenario) => toRecords(await runScenario(raced, 'full'), 'here')[0]?.record;

test('medians and quartiles are those of the runs', () => {
  assert.equal(summarize([5, 1, 3, 2, 4]), { runs: 5, median: 3, low: 2, high: 4, least: 1, most: 5 });
  assert.equal(summarize([1, 2]), { runs: 2, median: 1.5, low: 1.25, high: 1.75, least: 1, most: 2 });
  const { spread, effect } = compareSpread(summarize([10, 10, 10]), summarize([20, 20, 20]));
  assert.is(spread, 0);
  assert.is(effect, 1);
});

test('a ratio is expressed in terms of its goal', async () => {
  const sides = [side('hare', [10, 11, 10]), side('snail', [4, 4, 4])] as const;
  const record = await recordOf(scenario(sides));
  assert.equal(Object.keys(record ?? {}).sort(), [
    ...['goal', 'machine', 'met', 'metric', 'ours', 'peer', 'ratio', 'runs', 'scenario', 'theirs', 'unit'],
  ]);
  assert.equal(record, {
    scenario: 'race',
    metric: 'speed',
    unit: 'm/s',
    ours: 10,
    theirs: 4,
    peer: 'snail',
    ratio: 2.5,
    goal: '≥ 2 ×',
    met: true,
    runs: 3,
    machine: 'here',
  });
  const cost = [comparison({ better: 'less', goal: { share: 0.5 } })];
  assert.equal((await recordOf(scenario(sides, { comparisons: cost })))?.met, false);
  const alone = [comparison({ peer: null, goal: { below: 10 } })];
  const own = await recordOf(scenario(sides, { comparisons: alone }));
  assert.equal([own?.ratio, own?.theirs, own?.met], [null, null, false]);
});

test('what must never happen is judged by the worst run', async () => {
  const alone = comparison({ peer: null, better: 'less', goal: { below: 11 } });
  const judged = async (one: Comparison) => {
    const record = await recordOf(scenario([side('hare', [10, 11, 10])], { comparisons: [one] }));
    return [record?.ours, record?.met];
  };
  assert.equal(await judged(alone), [10, true]);
  assert.equal(await judged({ ...alone, worst: true }), [11, false]);
  assert.equal(await judged({ ...alone, worst: true, better: 'more', goal: { atLeast: 11 } }), [10, false]);
});

test('no ratio is reported if the spread is larger than the effect', async () => {
  const record = await recordOf(scenario([side('hare', [5, 10, 20]), side('snail', [6, 9, 18])]));
  assert.is(record?.ratio, null);
  assert.match(record?.met as string, /^inconclusive: spread \d+ % is larger than the effect \d+ %$/);
});

test('a goal that is further from the ratio than its spread is judged without one', async () => {
  const judged = async (goal: Goal) => {
    const sides = [side('hare', [10, 11, 12]), side('snail', [10, 11, 12])] as const;
    const record = await recordOf(scenario(sides, { comparisons: [comparison({ goal })] }));
    return [record?.ratio, record?.met];
  };
  assert.equal(await judged({ times: 0.8 }), [null, true]);
  assert.equal(await judged({ times: 1.3 }), [null, false]);
  assert.equal(await judged({ share: 1.3 }), [null, true]);
  assert.equal(await judged({ share: 0.8 }), [null, false]);
  assert.match((await judged({ times: 1.02 }))[1] as string, /^inconclusive/);
});

test('the ratio of a single run, whose spread is unknown, is reported only beyond a factor of two', async () => {
  const met = async (ours: number) => {
    const record = await recordOf(
      scenario([side('hare', [ours]), side('snail', [4])], { runs: { full: 1, quick: 1 } }),
    );
    return [record?.ratio, record?.met];
  };
  assert.equal(await met(9), [2.25, true]);
  assert.equal(await met(7), [
    null,
    'inconclusive: the assumed spread of a single run, 100 %, is larger than the effect 75 %',
  ]);
});

test('sides take turns, and the warm-up is not measured', async () => {
  const order: string[] = [];
  const noting = (name: string) =>
    side(name, [], {
      trial: async ({ number }) => {
        order.push(name + number);
        return { figures: { speed: number === 0 ? 1e6 : number }, answer: null };
      },
    });
  const raced = scenario([noting('a'), noting('b')], {
    warmUps: { full: 1, quick: 1 },
    comparisons: [comparison({ peer: 'b' })],
  });
  assert.is((await recordOf(raced))?.ours, 2);
  assert.equal(order, ['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
});

test('a peer that is missing is skipped with the way to install it, and nothing is made up', async () => {
  const missing = side('snail', [], { missing: () => 'npm install snail' });
  const record = await recordOf(scenario([side('hare', [10, 11, 10]), missing]));
  assert.equal([record?.ours, record?.theirs, record?.ratio], [10, null, null]);
  assert.is(record?.met, 'skipped: npm install snail');
});

test('sides that give different answers are not compared', async () => {
  const wrong = side('snail', [1, 1, 1], {
    trial: async () => ({ figures: { speed: 1 }, answer: 'asleep' }),
  });
  const error = await runScenario(scenario([side('hare', [10, 11, 10]), wrong]), 'full').catch((e) => e);
  assert.match(error.message, /did not do the same[\s\S]*42[\s\S]*asleep/);
  // What was measured until then is told.
  assert.ok(error.message.endsWith('{"hare":{"speed":[10]},"snail":{"speed":[1]}}'));
});

test('the usage of a program includes its descendants, and its failure is reported', async () => {
  const busy =
    'const end = Date.now() + 300; while (Date.now() < end); Buffer.alloc(2e8, 1); console.log("done")';
  const run = await runMeasured('sh', ['-c', '"$0" -e "$1"', process.execPath, busy]);
  assert.is(run.stdout, 'done\n');
  assert.ok(run.cpuSeconds > 0.05 && run.wallSeconds >= 0.3);
  assert.ok(run.peakBytes > 2e8);
  const error = await runMeasured('sh', ['-c', 'echo broken >&2; exit 3']).catch((e) => e);
  assert.match(error.message, /ended with 3:\nbroken/);
});

test('a server is accounted while it runs', async () => {
  const script = `const s = require('http').createServer((q, r) => r.end()).listen(0, '127.0.0.1', () =>
    console.log('http://127.0.0.1:' + s.address().port)); const end = Date.now() + 200; while (Date.now() < end);`;
  const server = await startServer({ command: process.execPath, args: ['-e', script] });
  try {
    assert.is((await fetch(server.url)).status, 200);
    assert.ok(server.cpuSeconds() > 0);
    assert.ok(server.memory().bytes > 1e6);
  } finally {
    await server.end();
  }
  const error = await startServer({ command: process.execPath, args: ['-e', 'throw Error("no")'] }).catch(
    (e) => e,
  );
  assert.match(error.message, /ended with 1[\s\S]*no/);
});

test('the table keeps the rows of scenarios that did not run', () => {
  const page = readFileSync(join(root, 'bench', 'README.md'), 'utf8');
  const record = (name: string, ours: number) => ({
    scenario: name,
    metric: 'speed',
    unit: 'm/s',
    ours,
    theirs: null,
    peer: null,
    ratio: null,
    goal: '≥ 1',
    met: true,
    runs: 3,
    machine: 'here',
  });
  const aside = { ...record('zebra', 4), goal: null, met: null };
  const once = withTable(page, [record('zebra', 1), aside, record('ant', 2)]);
  const twice = withTable(once, [record('zebra', 3)]);
  assert.match(once, /\| zebra \| speed \| 1\.00 m\/s \|/);
  assert.not.match(once, /4\.00 m\/s/, 'without a goal');
  assert.match(twice, /\| zebra \| speed \| 3\.00 m\/s \|/);
  assert.not.match(twice, /1\.00 m\/s/);
  assert.match(twice, /\| ant \| speed \| 2\.00 m\/s \|/);
  assert.is(withTable(twice, [record('zebra', 3)]), twice);
  assert.ok(twice.indexOf('| ant |') < twice.indexOf('| zebra |'));
});

test('an unknown name is answered with the list', () => {
  const argv = ['--import', 'tsx', join(root, 'bench', 'main.ts'), 'nonsense', 'hardware'];
  const { status, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', cwd: root });
  assert.is(status, 2);
  assert.match(stderr, /no scenario nonsense.*There are: .*hardware.*quantize/s);
});

test.run();
