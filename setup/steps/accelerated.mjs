import { inRoot } from '../paths.mjs';
import { hasNvidiaDriver } from '../prerequisites.mjs';
import { digest } from '../stamp.mjs';
import { pip } from './pip.mjs';

const REQUIREMENTS = 'trainer/requirements-accelerated.txt';
const applies = () => process.platform === 'linux' && hasNvidiaDriver();

/** The packages of the accelerated provider, if it can run here. */
export const accelerated = {
  name: 'accelerated',
  title: 'Accelerated provider',
  optional: true,
  makes: [],
  needs: [],
  from: () => digest([REQUIREMENTS, 'trainer/requirements.txt'], [`applies ${applies()}`]),
  async run(progress) {
    if (!applies()) return 'skipped: needs Linux and an NVIDIA driver';
    await pip(['-r', inRoot(REQUIREMENTS), '-c', inRoot('trainer/requirements.txt')], progress);
  },
};
