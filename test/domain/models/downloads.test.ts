import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listFiles } from '../../../src/domain/models/downloads.ts';
import type { Model } from '../../../src/domain/models/models.ts';

test('the files of a model are listed while one of them is replaced', async () => {
  const path = mkdtempSync(join(tmpdir(), 'hone-test-'));
  writeFileSync(join(path, 'model-Q8_0.gguf'), 'GGUF');
  let isListing = true;
  const replacing = (async () => {
    while (isListing) {
      await writeFile(join(path, 'note.partial'), 'x');
      await rename(join(path, 'note.partial'), join(path, 'note.json'));
    }
  })();
  try {
    for (let times = 0; times < 500; times++) {
      const files = await listFiles({ path } as Model);
      assert.equal(
        files.find(({ name }) => name === 'model-Q8_0.gguf'),
        { name: 'model-Q8_0.gguf', bytes: 4 },
      );
    }
  } finally {
    isListing = false;
    await replacing;
    rmSync(path, { recursive: true });
  }
});

test.run();
