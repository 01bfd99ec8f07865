import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hubLibrary, isHubApiError } from '../../src/hub/library.ts';
import { root } from '../folders.ts';

test('no file loads the library with itself, and so with the start of the service', () => {
  const folder = join(root, 'src', 'hub');
  for (const name of readdirSync(folder)) {
    const source = readFileSync(join(folder, name), 'utf8');
    assert.not.match(source, /^import (?!type ).*'@huggingface\/hub'/m, name);
  }
});

test("the library's errors are told from others by their fields", async () => {
  const { HubApiError } = await hubLibrary();
  assert.ok(isHubApiError(new HubApiError('https://huggingface.co/api', 404)));
  for (const other of [new Error('fetch failed'), { statusCode: 404, url: '' }, null, 'text'])
    assert.not(isHubApiError(other));
});

test.run();
