import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { allowedEnvironment, childVariables } from '../../src/contract/child-environment.ts';

test('a process gets what it needs, by whole names, and no secret', () => {
  const all = {
    PATH: '/usr/bin',
    LC_ALL: 'C',
    LD_PRELOAD: 'a.so',
    LD_PRELOADED: 'x',
    OLD_LD_PRELOAD: 'x',
    MY_PATH: 'x',
    OMP_NUM_THREADS: '2',
    NVIDIA_API_KEY: 'secret',
    HF_TOKEN: 'secret',
    HF_HOME: '/cache',
    HTTPS_PROXY: 'http://user:password@proxy',
    HONE_PLAIN: '1',
    HONE_PLAINLY: 'x',
    HOME: undefined,
  };
  const names = (allowed: readonly RegExp[]) => Object.keys(allowedEnvironment(all, allowed));
  assert.equal(names(childVariables.program), ['PATH', 'LC_ALL', 'LD_PRELOAD']);
  assert.equal(names(childVariables.engine), ['PATH', 'LC_ALL', 'LD_PRELOAD', 'OMP_NUM_THREADS']);
  const trainer = ['PATH', 'LC_ALL', 'LD_PRELOAD', 'OMP_NUM_THREADS', 'HF_HOME', 'HONE_PLAIN'];
  assert.equal(names(childVariables.trainer), trainer);
  assert.equal(names(childVariables.download), ['HTTPS_PROXY']);
});

test.run();
