import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { asAppError } from '../../src/errors.ts';
import { listFiles } from '../../src/openai-source/openai-source.ts';

/** What is said of a base URL; no request may leave for it. */
const said = (baseUrl: string) =>
  listFiles({
    baseUrl,
    key: 'sk-canary',
    patience: { timeoutMs: 60_000, backoffMs: 1, waitMs: 1000 },
    signal: new AbortController().signal,
  }).then(
    () => 'nothing',
    (error) => asAppError(error).message,
  );

test('the key is sent over TLS, or on this machine, and nowhere else', async () => {
  for (const baseUrl of [
    'http://api.example.com/v1',
    'ftp://localhost/v1',
    'http://127.0.0.1.example.com/v1',
  ]) {
    assert.match(
      await said(baseUrl),
      /OPENAI_BASE_URL is not an https:\/\/ address, so the API key is not sent/,
    );
  }
  assert.match(await said('http://127.0.0.1:9/v1'), /cannot be reached .*Try again later/);
  assert.match(await said('http://localhost:9/v1'), /cannot be reached/);
});

test('what is no address is told', async () => {
  assert.match(await said('api.openai.com'), /OPENAI_BASE_URL is no address: "api\.openai\.com"/);
  assert.not.match(await said('sk-canary'), /canary/);
});

test.run();
