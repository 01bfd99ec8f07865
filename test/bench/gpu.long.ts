import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { missingGpu } from '../../bench/gpu/device.ts';
import { dryRun } from '../../bench/gpu/dry-run.ts';
import { describePackages, gpuProblem, gpuScenarios } from '../../bench/gpu/scenarios.ts';

test('what is measured on a GPU is tried on the CPU, as far as it needs none', async () => {
  const said: string[] = [];
  await dryRun((text) => said.push(text));
  const text = said.join('\n');
  for (const { name, comparisons } of gpuScenarios('cuda')) {
    assert.ok(text.includes(`\n${name}: `), name);
    for (const { metric } of comparisons) assert.ok(text.includes(`would measure ${metric};`), metric);
  }
  for (const side of ['standard: python', 'TRL: a plain script', "hone: the service's engine"]) {
    assert.match(text, new RegExp(`${side}.*; works`));
  }
  if (missingGpu() !== null) {
    assert.match(text, /where it cannot run: accelerated: .*needs an NVIDIA GPU/);
    assert.match(text, /accelerated: accelerated; skipped: no NVIDIA GPU/);
  }
});

test('without a GPU it says so, and what can be tried', () => {
  const found = gpuProblem(false, true, []);
  if (missingGpu() === null) assert.is(found, null);
  else assert.match(found as string, /no NVIDIA GPU.*--gpu --dry-run/);
  assert.is(gpuProblem(true, true, []), null);
  assert.match(gpuProblem(true, false, []) as string, /belongs to --gpu/);
  assert.match(gpuProblem(true, true, ['http']) as string, /leave out http/);
});

test('packages are told with their pinned versions', async () => {
  const [torch] = await describePackages(['torch']);
  assert.match(torch as string, /^torch \d+\.\d+\.\d+: installed$/);
  let problem = '';
  await describePackages(['leftpad']).catch((error: Error) => {
    problem = error.message;
  });
  assert.match(problem, /does not pin leftpad/);
});

test.run();
