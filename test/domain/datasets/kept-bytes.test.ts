import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { continuableBytes } from '../../../src/domain/datasets/files/new-file.ts';
import { keptBytes } from '../../../src/domain/datasets/imports/hub-download.ts';
import { temporaryFolder } from '../../folders.ts';

test('of an earlier download whole blocks are kept, all of a complete file, and nothing of one that is too long', async () => {
  const folder = temporaryFolder();
  const sizeBytes = 40 * 2 ** 20;
  const file = { sizeBytes } as Parameters<typeof keptBytes>[0][number];
  const path = (name: string, bytes: number) => {
    const made = join(folder, name);
    writeFileSync(made, '');
    truncateSync(made, bytes);
    return made;
  };
  const part = sizeBytes - 5;
  const paths = [
    path('whole', sizeBytes),
    path('part', part),
    path('long', sizeBytes + 1),
    join(folder, 'none'),
  ];
  const kept = await keptBytes([file, file, file, file], paths);
  assert.equal(kept, [sizeBytes, continuableBytes(part), 0, 0]);
  assert.ok(continuableBytes(part) > 0 && continuableBytes(part) < part);
});

test.run();
