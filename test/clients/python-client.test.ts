/** The Python package (`python/`) against a running service. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, root, startService, temporaryFolder, tinyModel } from '../service.ts';
import { trainerPython } from './install.ts';

test.after(endAll);

test('the Python client trains, follows, asks, downloads, evaluates and tells faults', async () => {
  const service = await startService({ warm: true });
  const env = {
    ...process.env,
    HONE_URL: service.url,
    SERVICE_DATA_DIR: service.dataDir,
    HONE_TEST_MODEL: tinyModel('llama'),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const checked = spawnSync(trainerPython, ['-m', 'mypy', '--cache-dir', temporaryFolder(), 'hone'], {
    cwd: join(root, 'python'),
    encoding: 'utf8',
  });
  assert.is(checked.status, 0, checked.stdout);
  const child = spawn(trainerPython, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'tests'], {
    cwd: join(root, 'python'),
    env,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const [code] = await once(child, 'close');
  assert.is(code, 0, said);
  assert.match(said, /9 passed/);
});

test.run();
