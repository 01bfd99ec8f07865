/**
 * `npm run bench [-- NAME…] [--quick] [--json FILE] [--table]`: runs the scenarios in this folder, one per file, and
 * prints the results next to those of the peers. `--table` writes the rows into bench/README.md. harness/scenario.ts
 * explains how to add a scenario. `--gpu` runs those of gpu/scenarios.ts instead, and with `--dry-run` tries them on the
 * CPU.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { dryRun } from './gpu/dry-run.ts';
import { gpuProblem, gpuScenarios } from './gpu/scenarios.ts';
import { describeMachine } from './harness/machine.ts';
import { type Record, toRecords } from './harness/records.ts';
import { prepareScenario, runScenario } from './harness/run-scenario.ts';
import type { Scenario } from './harness/scenario.ts';
import { line, withTable } from './harness/text.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'string' },
    table: { type: 'boolean', default: false },
    gpu: { type: 'boolean', default: false },
    'dry-run': { type: 'boolean', default: false },
  },
});
if (values['dry-run'] || values.gpu) {
  const problem = await gpuProblem(values['dry-run'], values.gpu, positionals);
  if (problem !== null) {
    console.error(problem);
    process.exit(2);
  }
}
if (values['dry-run']) {
  await dryRun((text) => console.log(text));
  process.exit(0);
}
const here = import.meta.dirname;
const names = readdirSync(here)
  .filter((name) => name.endsWith('.ts') && name !== 'main.ts')
  .map((name) => name.slice(0, -'.ts'.length))
  .sort();
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(', ')}. There are: ${names.join(', ')}.`);
  process.exit(2);
}
const machine = describeMachine();
console.log(machine);
const size = values.quick ? 'quick' : 'full';
const show = process.stderr.isTTY ? (text: string) => process.stderr.write(`\r\u001b[K${text}`) : () => {};
const scenarios = values.gpu
  ? gpuScenarios('cuda')
  : await Promise.all(
      (positionals.length > 0 ? positionals : names).map(
        async (name) => ((await import(join(here, `${name}.ts`))) as { scenario: Scenario }).scenario,
      ),
    );
// Making small inputs mostly means importing libraries, so all are made in parallel before measuring.
show('making inputs …');
const prepared = await Promise.allSettled(
  size === 'quick' ? scenarios.map((scenario) => prepareScenario(scenario, size)) : [],
);
show('');
const records: Record[] = [];
for (const [at, scenario] of scenarios.entries()) {
  console.log(`\n${scenario.name}: ${scenario.about}`);
  const begun = Date.now();
  try {
    const made = prepared[at];
    if (made?.status === 'rejected') throw made.reason;
    const outcome = await runScenario(scenario, size, (text) => show(`  ${text}`), made?.value);
    show('');
    for (const side of outcome.sides) {
      console.log(
        `  ${side.name}: ${side.about}${side.skipped === null ? '' : ` (skipped: ${side.skipped})`}`,
      );
    }
    for (const { record, ours, theirs } of toRecords(outcome, machine)) {
      console.log(`  ${line(record, ours, theirs)}`);
      records.push(record);
    }
  } catch (error) {
    show('');
    console.error(`  failed: ${(error as Error).message}`);
    process.exitCode = 1;
  }
  console.log(`  ${Math.round((Date.now() - begun) / 1000)} s for this scenario`);
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(records, null, 2)}\n`);
if (values.table) {
  const page = join(here, 'README.md');
  writeFileSync(page, withTable(readFileSync(page, 'utf8'), records));
}
