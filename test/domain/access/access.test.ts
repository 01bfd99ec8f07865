import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openStore } from '../../../src/db/store.ts';
import { type Client, createAccess } from '../../../src/domain/access/access.ts';
import { createAccessKeys } from '../../../src/domain/access/access-keys.ts';
import { createSessions, sessionDays } from '../../../src/domain/access/sessions.ts';
import { root, temporaryFolder } from '../../folders.ts';

const path = join(temporaryFolder(), 'hone.sqlite');
const open = () => openStore(path, join(root, 'src', 'db', 'migrations'));
const store = open();

/** A clock that is set by hand. */
let time = new Date('2026-01-01T00:00:00.000Z');
const now = () => time;
const pass = (ms: number) => {
  time = new Date(time.getTime() + ms);
};

const environmentKey = 'a long secret from the environment';
const keys = createAccessKeys(store.access, environmentKey, now);
const sessions = createSessions(store.access, keys, now);

test.before.each(() => {
  for (const { id } of keys.list()) keys.remove(id);
});
test.after(() => store.close());

test('a key opens with all of its characters, and only its hash is stored', () => {
  const { key, record } = keys.add({ name: ' laptop ', scope: 'inference' });
  assert.match(key, /^hone_[0-9a-f]{8}_[A-Za-z0-9_-]{43}$/);
  assert.is(key.split('_')[1], record.id);
  assert.equal(keys.check(key), {
    id: record.id,
    name: 'laptop',
    scope: 'inference',
    budget: null,
    recording: false,
  });
  const flipped = key.slice(0, -2) + (key.at(-2) === 'A' ? 'B' : 'A') + key.at(-1);
  for (const wrong of ['', 'hone_', record.id, key.slice(0, -1), `${key}x`, flipped, key.toUpperCase()]) {
    assert.is(keys.check(wrong), null, wrong);
  }
  const stored = JSON.stringify([store.access.listKeys(), keys.list()]);
  assert.not.match(stored, key.slice(14));
});

test('another connection to the database sees a new key, and a removed one no more', () => {
  const other = open();
  const elsewhere = createAccessKeys(other.access, null, now);
  const { key, record } = elsewhere.add({ name: 'a', scope: 'full' });
  assert.is(keys.check(key)?.id, record.id);
  const { token } = sessions.open(record);
  assert.is(sessions.find(token)?.id, record.id);
  elsewhere.remove(record.id);
  other.close();
  assert.is(keys.check(key), null);
  assert.is(keys.holder(record.id), null);
  assert.is(sessions.find(token), null);
  assert.throws(
    () => keys.remove(record.id),
    (error: { kind: string; message: string }) =>
      error.kind === 'not_found' && error.message.includes(record.id),
  );
});

test('the last use is stored at most once a minute', () => {
  const { key, record } = keys.add({ name: 'a', scope: 'full' });
  const lastUsed = () => keys.list()[0]?.lastUsedAt;
  assert.is(record.lastUsedAt, null);
  assert.is(lastUsed(), null);
  const first = time.toISOString();
  keys.check(key);
  assert.is(lastUsed(), first);
  pass(59_999);
  keys.check(key);
  assert.is(lastUsed(), first);
  pass(1);
  sessions.find(sessions.open(record).token);
  assert.is(lastUsed(), time.toISOString());
});

test('names have 1 to 64 characters and no control characters', () => {
  for (const name of ['', '  ', 'a\nb', 'a\u0000', 'a\u2028b', '\ud83d', 'x'.repeat(65)]) {
    assert.throws(
      () => keys.add({ name, scope: 'full' }),
      (error: { kind: string }) => error.kind === 'invalid',
      JSON.stringify(name),
    );
  }
  assert.is(keys.add({ name: '😀'.repeat(64), scope: 'full' }).record.name, '😀'.repeat(64));
  assert.is(keys.list().length, 1);
});

test('there are at most 100 keys', () => {
  for (let i = 0; i < 100; i += 1) keys.add({ name: 'a', scope: 'full' });
  assert.throws(
    () => keys.add({ name: 'a', scope: 'full' }),
    (error: { kind: string }) => error.kind === 'conflict',
  );
});

test('a session ends when it is closed or expires, and its token is stored only as a hash', () => {
  const { record } = keys.add({ name: 'a', scope: 'inference' });
  const closed = sessions.open(record);
  const kept = sessions.open(record);
  assert.not.equal(closed.token, kept.token);
  assert.equal(sessions.find(kept.token), {
    id: record.id,
    name: 'a',
    scope: 'inference',
    budget: null,
    recording: false,
  });
  sessions.close(closed.token);
  assert.is(sessions.find(closed.token), null);
  assert.is(sessions.find('x'), null);
  assert.is(Date.parse(kept.expiresAt) - time.getTime(), sessionDays * 86_400_000);
  pass(sessionDays * 86_400_000 - 1);
  assert.ok(sessions.find(kept.token));
  pass(1);
  assert.is(sessions.find(kept.token), null);
});

test('the key of the environment opens everything, is not listed, and its sessions end with it', () => {
  const holder = keys.check(environmentKey);
  assert.is(holder?.scope, 'full');
  assert.equal(keys.list(), []);
  if (holder === null) return;
  const { token } = sessions.open(holder);
  assert.equal(sessions.find(token), holder);
  const changed = createAccessKeys(store.access, `${environmentKey}!`, now);
  assert.is(changed.check(environmentKey), null);
  assert.is(createSessions(store.access, changed, now).find(token), null);
  assert.is(createSessions(store.access, createAccessKeys(store.access, null, now), now).find(token), null);
});

test('a client is known by a key, a session or the service’s own key, and admitted by the scope', () => {
  const access = createAccess({ mode: 'auto', keys, sessions, cookieName: 'hone' }, () => 0);
  const [local, far] = [true, false].map((isLocal) => ({ address: '192.0.2.7', isLocal })) as [
    Client,
    Client,
  ];
  assert.equal([access.needsKey(local), access.needsKey(far)], [false, true]);
  const { key } = keys.add({ name: 'app', scope: 'inference' });
  const laptop = keys.add({ name: 'laptop', scope: 'full' });
  const by = (bearer: string | null, session: string | null = null) => ({ bearer, session });
  const { token } = access.signIn(far, laptop.key);
  for (const known of [by(key), by(access.ownKey), by(null, token)]) assert.ok(access.knows(known));
  for (const unknown of [by(null), by('hone_x'), by(null, 'x'), by('hone_x', token)])
    assert.not(access.knows(unknown));
  const refusal = (act: () => unknown) => {
    try {
      act();
    } catch (error) {
      return (error as { kind: string }).kind;
    }
    return null;
  };
  assert.is(
    refusal(() => access.admit(far, by(key), 'inference')),
    null,
  );
  assert.is(
    refusal(() => access.admit(far, by(key), 'full')),
    'forbidden',
  );
  assert.is(
    refusal(() => access.admit(far, by(null), 'inference')),
    'unauthorized',
  );
  assert.is(
    refusal(() => access.admit(far, by('hone_x'), 'full')),
    'unauthorized',
  );
  assert.is(
    refusal(() => access.admit(far, by(null, token), 'full')),
    null,
  );
  // A key for inference does not open the page.
  assert.is(
    refusal(() => access.signIn(far, key)),
    'forbidden',
  );
  assert.is(
    refusal(() => access.signIn(far, 'hone_x')),
    'unauthorized',
  );
  access.signOut(token);
  assert.not(access.knows(by(null, token)));
});

test.run();
