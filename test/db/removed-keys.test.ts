import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readRemovedKeys, rememberRemovedKey } from '../../src/db/removed-keys.ts';
import { temporaryFolder } from '../folders.ts';

const hash = (byte: number) => Buffer.alloc(32, byte);

test('removed keys are remembered beside the database, and a torn line is passed over', () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  assert.equal(readRemovedKeys(path), []);
  rememberRemovedKey(path, hash(1));
  rememberRemovedKey(path, hash(0xab));
  appendFileSync(`${path}-removed-keys`, 'abcdef\n');
  assert.equal(readRemovedKeys(path), [hash(1), hash(0xab)]);
});

test('a key is removed even where that cannot be written', () => {
  const path = join(temporaryFolder(), 'hone.sqlite');
  mkdirSync(`${path}-removed-keys`);
  rememberRemovedKey(path, hash(1));
  assert.throws(() => readRemovedKeys(path), /EISDIR/);
});

test.run();
