import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRollingBackups } from '../../src/db/rolling-backups.ts';
import { openStore } from '../../src/db/store.ts';
import { root, temporaryFolder, until } from '../service.ts';

test('the program that makes backups gets no secrets', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'hone.sqlite');
  const told = join(folder, 'environment.json');
  process.env.AWS_SECRET_ACCESS_KEY = 'canary-of-backups';
  const script = `fs.writeFileSync('${told}.partial', JSON.stringify(process.env)); fs.renameSync('${told}.partial', '${told}')`;
  const logger = { warn() {}, debug() {} };
  const program = [process.execPath, '-e', script, '--'] as const;
  const store = openStore(path, join(root, 'src', 'db', 'migrations'));
  const backups = createRollingBackups({ databasePath: path, everyMs: 1, program, logger });
  await until(() => existsSync(told), 'the program has run');
  backups.close();
  store.close();
  delete process.env.AWS_SECRET_ACCESS_KEY;
  const environment = readFileSync(told, 'utf8');
  assert.match(environment, 'PATH');
  assert.not.match(environment, 'canary');
});

test.run();
