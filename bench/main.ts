/**
 * `npm run bench [-- NAME…] [--quick]`: runs the scenarios of this folder, one file each, and prints what
 * each measured beside what it is measured against.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Figure } from './hardware.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
});
const scenarios = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.ts') && name !== 'main.ts')
  .map((name) => name.slice(0, -'.ts'.length))
  .sort();
const unknown = positionals.filter((name) => !scenarios.includes(name));
if (unknown.length > 0) {
  console.error(`There is no scenario ${unknown.join(', ')}. There are: ${scenarios.join(', ')}.`);
  process.exit(2);
}
for (const name of positionals.length > 0 ? positionals : scenarios) {
  const scenario = (await import(join(import.meta.dirname, `${name}.ts`))) as {
    run(options: { quick: boolean }): Promise<Figure[]>;
  };
  for (const figure of await scenario.run({ quick: values.quick })) {
    const rival = figure.rival === null ? 'not here' : figure.rival.toFixed(3);
    const ratio = figure.ratio === null ? '' : `, ratio ${figure.ratio.toFixed(2)}`;
    console.log(
      `${name}: ${figure.name}: ${figure.ours.toFixed(3)} ${figure.unit}; ${figure.rivalName}: ${rival}${ratio}`,
    );
  }
}
