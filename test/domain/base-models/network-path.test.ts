import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isNetworkPath } from '../../../src/domain/base-models/files/network-path.ts';

test('shares and devices are told from local paths on Windows', () => {
  for (const path of [
    '\\\\host\\share\\model',
    '//host/share/model',
    '\\/host/share',
    '/\\host\\share',
    '\\\\?\\UNC\\host\\share',
    '\\\\.\\pipe\\name',
    '\\\\10.0.0.1@8080\\share',
  ]) {
    assert.ok(isNetworkPath(path, 'win32'), path);
  }
  for (const path of [
    'C:\\models\\a',
    'C:/models/a',
    '\\models',
    '/models',
    '.\\a',
    'owner/name',
    '~/a',
    '',
  ]) {
    assert.not(isNetworkPath(path, 'win32'), path);
  }
});

test('elsewhere, two slashes begin a local path', () => {
  assert.not(isNetworkPath('//srv/models', 'linux'));
  assert.not(isNetworkPath('\\\\host\\share', 'darwin'));
});

test.run();
