import { runScenario } from '/work/main/bench/harness/run-scenario.ts';
import { scenario } from '/work/main/bench/training.ts';
const o = await runScenario(scenario, 'test');
console.log(JSON.stringify(o.sides));
