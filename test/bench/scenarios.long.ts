import { test } from 'uvu';
import { others, tryScenario } from './try-scenario.ts';

others.forEach(tryScenario);
test.run();
