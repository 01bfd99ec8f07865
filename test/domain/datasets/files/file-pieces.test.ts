import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { filePieces } from '../../../../src/domain/datasets/files/file-pieces.ts';
import { temporaryFolder } from '../../../folders.ts';

test('a file that is gone fails who reads it, and nothing before', async () => {
  const pieces = filePieces(join(temporaryFolder(), 'gone.jsonl'));
  // An error that nobody listens to ends the process.
  await setTimeout(50);
  const error = await pieces.next().catch((thrown) => thrown);
  assert.is(error.code, 'ENOENT');
});

test.run();
