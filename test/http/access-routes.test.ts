/** Every route, the socket and the page for every kind of client and key, on both engines. */
import * as assert from 'uvu/assert';
import { bearer, type Operation, testAccess } from './access.ts';
import type { Got } from './clients.ts';

/** Paths that answer everyone; a sign-in without a key is a request without its body. */
const free = new Set(['GET /api/health', 'GET /api/session', 'POST /api/session', 'DELETE /api/session']);
const forInference = new Set([
  ...['GET /v1/models', 'GET /v1/models/{model}', 'POST /v1/chat/completions', 'POST /v1/completions'],
  ...['POST /v1/embeddings', 'POST /v1/responses'],
  ...['GET', 'DELETE'].map((method) => `${method} /v1/responses/{response_id}`),
  'GET /v1/responses/{response_id}/input_items',
  ...['POST /v1/messages', 'POST /v1/messages/count_tokens'],
  'GET /v1/chat/completions',
  ...['GET', 'POST', 'DELETE'].map((method) => `${method} /v1/chat/completions/{completion_id}`),
  'GET /v1/chat/completions/{completion_id}/messages',
  'POST /v1/chat/completions/{completion_id}/feedback',
]);

testAccess((test, fixture, origins) => {
  const { ask, keys, operations } = fixture;

  /** What is wrong with a refusal for want of a valid key, or null. */
  function refusalFault({ set, method }: Operation, { status, headers, body }: Got): string | null {
    if (status !== 401) return `status ${status}`;
    if (headers['www-authenticate'] !== 'Bearer') return 'no WWW-Authenticate: Bearer';
    if (method === 'HEAD') return null;
    const fields = Object.keys(body).sort().join();
    if (set === 'openai') {
      return body.error?.code === 'invalid_api_key' && fields === 'error' ? null : JSON.stringify(body);
    }
    if (set === 'anthropic') {
      return body.error?.type === 'authentication_error' && fields === 'error,type'
        ? null
        : JSON.stringify(body);
    }
    return fields === (set === 'finetune' ? 'detail' : 'detail,error,status_code')
      ? null
      : JSON.stringify(body);
  }

  for (const origin of origins) {
    for (const kind of ['none', 'wrong', 'right', 'inference', 'revoked'] as const) {
      test(`every route, ${origin}, ${kind === 'none' ? 'without a key' : `with a key: ${kind}`}`, async () => {
        const faults = await Promise.all(
          operations.map(async (operation) => {
            const { name, method, path } = operation;
            const headers = { ...operation.headers, ...(kind === 'none' ? {} : bearer(keys[kind])) };
            const got = await ask(origin, method, path, { headers });
            const isOpen =
              origin === 'loopback' ||
              free.has(name) ||
              kind === 'right' ||
              (kind === 'inference' && forInference.has(name));
            const fault = isOpen
              ? [401, 403, 429].includes(got.status)
              : kind === 'inference' && !(name === 'the methods of a path')
                ? got.status !== 403
                : kind === 'inference'
                  ? got.status !== 403 && got.status !== 204
                  : refusalFault(operation, got);
            if (name === 'the socket' && isOpen) assert.is(got.status, 101, `${name} ${got.text}`);
            return fault ? `${name}: ${fault === true ? got.status : fault}` : null;
          }),
        );
        assert.equal(
          faults.filter((fault) => fault !== null),
          [],
        );
      });
    }
  }

  const elsewhere = origins.filter((origin) => origin !== 'loopback');

  for (const origin of elsewhere) {
    test(`the page needs no key, ${origin}`, async () => {
      for (const path of ['/', '/runs', '/index.html']) {
        const { status, text } = await ask(origin, 'GET', path, { headers: { accept: 'text/html' } });
        assert.is(status, 200, path);
        assert.match(text, '<!doctype html>');
      }
    });

    test(`a key may come in x-api-key, ${origin}`, async () => {
      const statusWith = async (key: string) =>
        (await ask(origin, 'GET', '/v1/models', { headers: { 'x-api-key': key } })).status;
      assert.equal([await statusWith(keys.right), await statusWith(keys.wrong)], [200, 401]);
    });

    test(`another spelling of a path opens nothing, ${origin}`, async () => {
      for (const path of [
        '/%61pi/info',
        '/api/%69nfo',
        '/api%2finfo',
        '//api/info',
        '/API/info',
        '/./api/info',
        '/x/../api/info',
      ]) {
        const { status, text } = await ask(origin, 'GET', path);
        assert.ok(status === 401 || !text.includes('providers'), `${path}: ${status} ${text.slice(0, 200)}`);
      }
    });
  }
});
