/** Keys, sessions and guesses of clients on other machines, on both engines. */
import * as assert from 'uvu/assert';
import WebSocket from 'ws';
import { until } from '../service.ts';
import { bearer, handshake, testAccess } from './access.ts';

testAccess((test, fixture, origins) => {
  const { ask, keys, makeKey } = fixture;
  const elsewhere = origins.filter((origin) => origin !== 'loopback');

  for (const origin of elsewhere) {
    test(`a key in the query or in another header opens nothing, ${origin}`, async () => {
      const query = new URLSearchParams({
        key: keys.right,
        access_token: keys.right,
        [fixture.cookieName]: keys.right,
      });
      assert.is((await ask(origin, 'GET', `/api/info?${query}`)).status, 401);
      for (const headers of [
        { 'x-hone-key': keys.right },
        { authorization: keys.right },
        { authorization: `Basic ${Buffer.from(`:${keys.right}`).toString('base64')}` },
        { cookie: `${fixture.cookieName}=${keys.right}` },
      ]) {
        assert.is((await ask(origin, 'GET', '/api/info', { headers })).status, 401, JSON.stringify(headers));
      }
    });

    test(`a session opens the service until it is ended, ${origin}`, async () => {
      const signedIn = await ask(origin, 'POST', '/api/session', { body: { key: keys.right } });
      assert.is(signedIn.status, 200, signedIn.text);
      assert.equal(signedIn.body, {
        ...{ access: 'auto', reachable: true, key_needed: true },
        ...{ signed_in: true, key_name: 'right', scope: 'full' },
      });
      const [set] = signedIn.headers['set-cookie'] as unknown as string[];
      assert.match(
        set as string,
        /^hone_session_[0-9a-f]{8}=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/,
      );
      const headers = { cookie: `theme=dark; ${(set as string).split(';', 1)[0]}` };
      assert.equal((await ask(origin, 'GET', '/api/session', { headers })).body, signedIn.body);
      assert.is((await ask(origin, 'GET', '/api/info', { headers })).status, 200);
      assert.is(
        (await ask(origin, 'GET', '/ws/training', { headers: { ...headers, ...handshake } })).status,
        101,
      );
      const ended = await ask(origin, 'DELETE', '/api/session', { headers });
      assert.is(ended.body.signed_in, false);
      assert.match(
        (ended.headers['set-cookie'] as unknown as string[])[0] as string,
        /^hone_session_[0-9a-f]{8}=;.*Max-Age=0/,
      );
      assert.is((await ask(origin, 'GET', '/api/info', { headers })).status, 401);
      assert.is((await ask(origin, 'GET', '/api/session', { headers })).body.signed_in, false);
    });

    test(`a wrong key and one for inference do not sign in, ${origin}`, async () => {
      for (const [kind, status] of [
        ['wrong', 401],
        ['revoked', 401],
        ['inference', 403],
      ] as const) {
        const got = await ask(origin, 'POST', '/api/session', { body: { key: keys[kind] } });
        assert.is(got.status, status, kind);
        assert.is(got.headers['set-cookie'], undefined);
      }
    });

    test(`ten wrong keys stop an address for a while, and no other, ${origin}`, async () => {
      const from = fixture.freshAddress(origin);
      const guess = (path: string) => ask(origin, 'GET', path, { from, headers: bearer(keys.wrong) });
      for (let time = 0; time < 5; time += 1) assert.is((await guess('/api/info')).status, 401);
      for (let time = 0; time < 5; time += 1) {
        assert.is((await ask(origin, 'POST', '/api/session', { from, body: { key: 'wrong' } })).status, 401);
      }
      for (const [path, headers] of [
        ['/api/info', bearer(keys.wrong)],
        ['/v1/models', bearer(keys.right)],
        ['/ws/training', { ...handshake, ...bearer(keys.wrong) }],
        ['/api/session', bearer(keys.right)],
      ] as const) {
        const got = await ask(origin, 'GET', path, { from, headers });
        assert.is(got.status, 429, path);
        assert.ok(Number(got.headers['retry-after']) >= 1 && Number(got.headers['retry-after']) <= 60);
      }
      assert.is((await ask(origin, 'POST', '/api/session', { from, body: { key: keys.right } })).status, 429);
      assert.is((await ask(origin, 'GET', '/api/info', { headers: bearer(keys.right) })).status, 200);
    });

    test(`an ended session is no guess, ${origin}`, async () => {
      const from = fixture.freshAddress(origin);
      const headers = { cookie: `${fixture.cookieName}=${'A'.repeat(43)}` };
      for (let time = 0; time < 15; time += 1) {
        assert.is((await ask(origin, 'GET', '/api/info', { from, headers })).status, 401);
      }
      assert.is((await ask(origin, 'GET', '/api/info', { from, headers: bearer(keys.right) })).status, 200);
    });
  }

  test('removing a key ends its sessions and closes its sockets', async () => {
    const { id, key } = await makeKey('short', 'full');
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    const signedIn = await ask('forwarded', 'POST', '/api/session', { body: { key } });
    const cookie = (signedIn.headers['set-cookie'] as unknown as string[])[0]?.split(';', 1)[0] as string;
    const sockets = [{ cookie }, bearer(key)].map(
      (own) =>
        new WebSocket(`ws://127.0.0.1:${fixture.port}/ws/training`, { headers: { ...headers, ...own } }),
    );
    await until(
      () => sockets.every((socket) => socket.readyState === WebSocket.OPEN),
      'the sockets are open',
    );
    const codes: number[] = [];
    for (const socket of sockets) socket.on('close', (code) => codes.push(code));
    assert.is((await fixture.service.call('DELETE', `/api/keys/${id}`)).status, 200);
    assert.is((await ask('forwarded', 'GET', '/api/info', { headers: { cookie } })).status, 401);
    await until(() => codes.length === 2, 'the sockets are closed');
    assert.equal(codes, [1008, 1008]);
  });
});
