/** The Dockerfile against what the service reads of its source while it runs. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { root } from '../folders.ts';

test('the image has every folder of migrations', () => {
  const stages = readFileSync(join(root, 'Dockerfile'), 'utf8').split(/^FROM /m);
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const folders = new Set(files.filter((name) => name.endsWith('.sql')).map((name) => dirname(name)));
  assert.ok(folders.size > 1);
  for (const folder of folders) assert.match(stages.at(-1) as string, `COPY src/${folder} src/${folder}\n`);
});

test.run();
