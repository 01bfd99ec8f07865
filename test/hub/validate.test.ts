import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  endAll,
  quickRequest,
  startService,
  supportRows,
  type TestService,
  temporaryFolder,
  tinyModel,
  untilEnded,
} from '../service.ts';
import type { Fault } from './fault.ts';
import { type LoopbackHub, startLoopbackHub } from './loopback.ts';

const token = 'hf_canaryForValidation';
const limits = { hubTimeoutMs: 500, hubBackoffMs: 20, hubWaitMs: 1500 };
const cleared = { HUB_TOKEN: '', HF_TOKEN: '', HUGGINGFACE_TOKEN: '', HF_HUB_OFFLINE: '' };

let hub: LoopbackHub;
let service: TestService;
const home = temporaryFolder();

test.before(async () => {
  hub = await startLoopbackHub();
  hub.accounts.set(token, { name: 'alice', role: 'read' });
  const tiny = tinyModel('llama');
  hub.addModel('someone/tiny', tiny, { downloads: 1234, likes: 56 });
  hub.addModel('someone/hidden', tiny, { isPrivate: true });
  hub.addModel('alice/own', tiny, { isPrivate: true });
  hub.addModel('someone/gated', tiny, { gated: 'manual' });
  service = await startService({
    limits,
    env: { ...cleared, HUB_TOKEN: token, HF_ENDPOINT: hub.url, HF_HOME: home },
  });
});
test.after(async () => {
  await endAll();
  await hub.close();
});

const validate = (name: string, of = service) =>
  of.call('POST', '/api/finetune/validate_custom_model', { repo_name: name });

/** Asks for the tiny model while the hub fails; also, how often the hub was asked for it. */
async function during(how: Fault['how'], times?: number) {
  hub.seen.length = 0;
  hub.faults.push({ match: /someone\/tiny/, how, ...(times === undefined ? {} : { times }) });
  try {
    const answer = await validate('someone/tiny');
    assert.not.ok(JSON.stringify(answer.body).includes(token));
    return { ...answer, asked: hub.seen.length };
  } finally {
    hub.faults.length = 0;
  }
}

test('a hub model is described as the hub describes it', async () => {
  const { status, body } = await validate('someone/tiny');
  assert.is(status, 200, JSON.stringify(body));
  assert.equal(body, {
    valid: true,
    repo_name: 'someone/tiny',
    model_info: { id: 'someone/tiny', author: 'someone', downloads: 1234, likes: 56 },
  });
  const second = await service.call('POST', '/api/finetune/validate_model', {
    selected_model: 'someone/tiny',
  });
  assert.equal(second.body, { valid: true, model: 'someone/tiny' });
  assert.is((await validate('alice/own')).status, 200, 'the token is sent to the hub');
});

test('what is missing, private or gated is 403, and names the model', async () => {
  for (const name of ['someone/nothing', 'someone/hidden', 'someone/gated']) {
    hub.seen.length = 0;
    const { status, body } = await validate(name);
    assert.is(status, 403, name);
    assert.ok(body.detail.includes(name), body.detail);
    assert.ok(hub.seen.filter(({ path }) => !path.endsWith('auth-check')).length === 1, 'asked once');
  }
  assert.match((await validate('someone/gated')).body.detail, /license/);
});

test('401, 403 and 404 are not asked again', async () => {
  for (const status of [401, 403, 404]) {
    const answer = await during({ status, body: { error: `no, not with ${token}` } });
    assert.equal([answer.status, answer.asked], [403, 1], String(status));
    assert.match(answer.body.detail, /that the hub token has access to it/);
  }
});

test('a busy hub is asked again, and then its answer counts', async () => {
  for (const status of [500, 502, 503, 504]) {
    const answer = await during({ status }, 2);
    assert.equal([answer.status, answer.asked], [200, 3], String(status));
  }
});

test('a hub that stays busy is 502 after a bounded number of attempts', async () => {
  const answer = await during({ status: 503 });
  assert.equal([answer.status, answer.asked], [502, 4]);
  assert.ok(answer.body.detail.includes(hub.url) && answer.body.detail.includes('503'), answer.body.detail);
});

test('429 is retried after the time that it gives', async () => {
  const began = performance.now();
  const answer = await during({ status: 429, headers: { 'retry-after': '1' } }, 1);
  assert.equal([answer.status, answer.asked], [200, 2]);
  assert.ok(performance.now() - began >= 990, 'not before the wait that was asked for');
});

test('429 with a wait that is too long is 502 at once, and says how long', async () => {
  const seconds = await during({ status: 429, headers: { 'retry-after': '3600' } });
  assert.equal([seconds.status, seconds.asked], [502, 1]);
  assert.match(seconds.body.detail, /429 and asks to wait 3600 s/);
  const date = new Date(Date.now() + 600_000).toUTCString();
  const dated = await during({ status: 429, headers: { 'retry-after': date } });
  assert.equal([dated.status, dated.asked], [502, 1]);
  assert.match(dated.body.detail, /asks to wait \d{3} s/);
  const own = await during({ status: 429, headers: { ratelimit: '"api";r=0;t=55' } });
  assert.equal([own.status, own.asked], [502, 1]);
  assert.match(own.body.detail, /asks to wait 55 s/);
});

test('silence and broken connections are tried again, then 502', async () => {
  const silent = await during({ hang: true }, 1);
  assert.equal([silent.status, silent.asked], [200, 2]);
  const mute = await during({ hang: true });
  assert.equal([mute.status, mute.asked], [502, 4]);
  assert.match(mute.body.detail, /did not respond for 0\.5 s/);
  const cut = await during({ dropAfterBytes: 0 }, 3);
  assert.equal([cut.status, cut.asked], [200, 4]);
  assert.is((await during({ dropAfterBytes: 0 })).status, 502);
});

test('a response that is not JSON, and one that never ends, are 502', async () => {
  let mode: 'html' | 'endless' = 'html';
  const odd = createServer((_request, response) => {
    if (mode === 'html') response.end('<html>maintenance</html>');
    else response.write(Buffer.alloc(2 ** 20));
  });
  await new Promise<void>((done) => odd.listen(0, '127.0.0.1', done));
  const other = await startService({
    limits,
    env: { ...cleared, HF_ENDPOINT: `http://127.0.0.1:${(odd.address() as AddressInfo).port}` },
  });
  const html = await validate('someone/tiny', other);
  assert.is(html.status, 502, JSON.stringify(html.body));
  mode = 'endless';
  assert.is((await validate('someone/tiny', other)).status, 502);
  odd.closeAllConnections();
  odd.close();
});

test('a redirect to another host is refused, and nothing goes there', async () => {
  hub.storage.seen.length = 0;
  for (const status of [301, 302, 307, 308]) {
    const answer = await during({ redirect: hub.storage.url, status });
    assert.equal([answer.status, answer.asked], [502, 1], String(status));
    assert.match(answer.body.detail, /redirects to another host/);
  }
  assert.equal(hub.storage.seen, [], 'the other host was not asked');
});

test('a renamed repository is followed on the same host', async () => {
  const redirect = '/api/models/someone/tiny/revision/HEAD';
  hub.faults.push({ match: /someone\/old/, how: { redirect, exactly: true } });
  const { status, body } = await validate('someone/old');
  hub.faults.length = 0;
  assert.is(status, 200, JSON.stringify(body));
  assert.is(body.model_info.id, 'someone/tiny');
});

test('an invalid repository name never leads to a request', async () => {
  hub.seen.length = 0;
  const names = [
    'tiny',
    'a/b/c',
    'http://127.0.0.1:1/x',
    '//evil.example/x',
    'a@evil.example/x',
    'someone/tiny?x=1',
    'someone/tiny#x',
    'someone/..',
    '../../etc/passwd/x',
    'someone/ti ny',
    'someone/tiny\r\nHost: evil',
    'someone/%2e%2e',
    'someone\\tiny',
  ];
  for (const name of names) {
    const { status } = await validate(name);
    assert.is(status, 400, name);
  }
  assert.equal(hub.seen, []);
});

test('without a network, what is not in the cache is 502 that names the hub, and a job fails', async () => {
  const offline = await startService({
    limits,
    env: { ...cleared, HF_ENDPOINT: hub.url, HF_HOME: home, HF_HUB_OFFLINE: '1' },
  });
  hub.seen.length = 0;
  const answer = await validate('someone/tiny', offline);
  assert.is(answer.status, 502);
  assert.ok(answer.body.detail.includes(hub.url) && answer.body.detail.includes('HF_HUB_OFFLINE'));
  await offline.upload('support.jsonl', supportRows());
  const start = await offline.call(
    'POST',
    '/api/start_training',
    quickRequest({ model_name: 'someone/tiny' }),
  );
  assert.is(start.status, 200, JSON.stringify(start.body));
  assert.is((await untilEnded(offline)).status, 'error');
  const { body: job } = await offline.call('GET', '/api/jobs/train_1');
  assert.is(job.error.code, 'model_not_accessible');
  assert.match(job.error.advice, /HF_HUB_OFFLINE/);
  assert.equal(hub.seen, [], 'the hub was not asked');

  const snapshot = join(home, 'hub', 'models--someone--kept', 'snapshots', 'a'.repeat(40));
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(home, 'hub', 'models--someone--kept', 'refs'));
  writeFileSync(join(home, 'hub', 'models--someone--kept', 'refs', 'main'), 'a'.repeat(40));
  assert.is((await validate('someone/kept', offline)).status, 502, 'the folder has no weights');
  for (const name of ['config.json', 'model.safetensors']) writeFileSync(join(snapshot, name), '{}');
  const kept = await validate('someone/kept', offline);
  assert.is(kept.status, 200, JSON.stringify(kept.body));
  assert.is(kept.body.model_info.id, 'someone/kept');
});

test('a hub that cannot be reached is 502 that names it', async () => {
  const other = await startService({ limits, env: { ...cleared, HF_ENDPOINT: 'http://127.0.0.1:9' } });
  const { status, body } = await validate('someone/tiny', other);
  assert.is(status, 502);
  assert.ok(body.detail.includes('http://127.0.0.1:9'), body.detail);
});

test('the token was told to nobody but the hub', () => {
  assert.not.ok(JSON.stringify(service.log).includes(token));
  assert.equal(
    hub.storage.seen.filter(({ authorization }) => authorization !== null),
    [],
  );
});

test.run();
