import { toRecords } from '../harness/records.ts';
import { prepareScenario, runScenario } from '../harness/run-scenario.ts';
import { missingGpu } from './device.ts';
import { describePackages, gpuScenarios } from './scenarios.ts';
import { refusal } from './training.ts';

const packages = ['torch', 'transformers', 'trl', 'peft', 'bitsandbytes', 'unsloth', 'unsloth-zoo'];

/**
 * Tries what `--gpu` measures, on the CPU and at the smallest size: makes the inputs, runs every side whose work needs no
 * GPU, and compares what they computed. Tells what would be measured, and measures nothing.
 * @throws when a side fails.
 */
export async function dryRun(say: (text: string) => void): Promise<void> {
  say('A dry run on the CPU: it shows that the sides run, and measures nothing.');
  for (const text of await describePackages(packages)) say(`  ${text}`);
  const scenarios = gpuScenarios('cpu');
  for (const scenario of scenarios) {
    say(`\n${scenario.name}: ${scenario.about}`);
    const dir = await prepareScenario(scenario, 'test');
    if (scenario.name === 'gpu-training' && missingGpu() !== null) {
      say(`  accelerated, where it cannot run: ${await refusal({ dir, size: 'test', number: 0 })}`);
    }
    const outcome = await runScenario(scenario, 'test', undefined, dir);
    for (const { name, about, skipped } of outcome.sides) {
      say(`  ${name}: ${about}; ${skipped === null ? 'works' : `skipped: ${skipped}`}`);
    }
    for (const { record } of toRecords(outcome, '')) {
      const { metric, unit, peer, goal } = record;
      const details = [`would measure ${metric}`, unit, peer && `against ${peer}`, goal && `goal ${goal}`];
      say(`  ${details.filter(Boolean).join('; ')}`);
    }
  }
}
