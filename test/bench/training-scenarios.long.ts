import { test } from 'uvu';
import { training, tryScenario } from './try-scenario.ts';

training.forEach(tryScenario);
test.run();
