/** usage: quantize.ts INPUT OUTPUT TYPE…   quantizes to each type in turn and prints the CPU time of each. */
import { quantize } from '../../src/native/quantize.ts';

const [input, output, ...types] = process.argv.slice(2) as [string, string, ...string[]];
await quantize(input, `${output}.warm`, 'Q4_0', { threads: 1 }); // loads the engine's libraries
const cpuSeconds: Record<string, number> = {};
for (const type of types) {
  const before = process.cpuUsage();
  await quantize(input, `${output}.${type}`, type, { threads: 1 });
  const { user, system } = process.cpuUsage(before);
  cpuSeconds[type] = (user + system) / 1e6;
}
process.stdout.write(JSON.stringify(cpuSeconds));
