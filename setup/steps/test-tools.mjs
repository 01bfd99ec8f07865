import { inRoot } from '../paths.mjs';
import { digest } from '../stamp.mjs';
import { pip } from './pip.mjs';

const REQUIREMENTS = 'trainer/requirements-test.txt';

/** Python packages for tests and benchmarks only. */
export const testTools = {
  name: 'test-tools',
  title: 'Test tools',
  makes: [],
  needs: [],
  from: () => digest([REQUIREMENTS, 'trainer/requirements.txt'], [process.platform]),
  run: (progress) => pip(['-r', inRoot(REQUIREMENTS)], progress).then(() => undefined),
};
