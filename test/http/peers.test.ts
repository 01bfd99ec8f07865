import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { scanHead } from '../../src/http/access/head-scan.ts';
import { canonicalAddress, createPeers } from '../../src/http/access/peers.ts';

const peerOf = (
  remote: string,
  headers: readonly (readonly [string, string])[],
  trusted: readonly string[] = [],
) => {
  const call = {
    remoteAddress: () => remote,
    eachHeader: (take: (name: string, value: string) => void) => {
      for (const [name, value] of headers) take(name, value);
    },
  };
  return createPeers(trusted)(call, scanHead(call).proxied);
};

const local = { address: '127.0.0.1', isLocal: true, overTls: false };

test('an address has one spelling', () => {
  for (const [text, canonical] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['0000:0000:0000:0000:0000:ffff:c000:0201', '192.0.2.1'],
    ['::ffff:127.0.0.1', '127.0.0.1'],
    ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['localhost', null],
    ['', null],
    ['127.1', null],
    ['[::1]', null],
  ] as const) {
    assert.is(canonicalAddress(text), canonical, text);
  }
});

test('loopback addresses of every spelling are local, others are not', () => {
  for (const address of ['127.0.0.1', '127.255.0.9', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1']) {
    assert.ok(peerOf(address, []).isLocal, address);
  }
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', '10.0.0.1', '128.0.0.1', '::', '']) {
    assert.not(peerOf(address, []).isLocal, address);
  }
});

test('any header of a proxy makes a loopback peer remote', () => {
  for (const name of [
    'forwarded',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-anything',
    'x-real-ip',
    'via',
  ]) {
    const peer = peerOf('127.0.0.1', [
      ['host', 'localhost'],
      [name, '127.0.0.1'],
    ]);
    assert.equal(peer, { ...local, isLocal: false }, name);
  }
  assert.equal(
    peerOf('127.0.0.1', [
      ['x-forward', '1'],
      ['viable', '1'],
    ]),
    local,
  );
});

test('a trusted proxy names its client', () => {
  for (const headers of [
    [['x-forwarded-for', '192.0.2.7']],
    [['x-forwarded-for', '127.0.0.1, 192.0.2.7']],
    [
      ['x-forwarded-for', '127.0.0.1'],
      ['x-forwarded-for', '192.0.2.7:4711, 127.0.0.1'],
    ],
    [['x-real-ip', '192.0.2.7']],
    [['forwarded', 'for=127.0.0.1, for="192.0.2.7:4711";proto=http;by=127.0.0.1']],
    [
      ['forwarded', 'proto=http;For=192.0.2.7'],
      ['x-forwarded-for', '192.0.2.7'],
    ],
  ] as const) {
    const peer = peerOf('127.0.0.1', headers, ['127.0.0.1']);
    assert.equal(peer, { address: '192.0.2.7', isLocal: false, overTls: false }, JSON.stringify(headers));
  }
  assert.is(peerOf('::1', [['forwarded', 'for="[2001:db8::5]:80"']], ['::1']).address, '2001:db8::5');
  assert.is(
    peerOf('::ffff:127.0.0.1', [['x-forwarded-for', '192.0.2.7']], ['127.0.0.1']).address,
    '192.0.2.7',
  );
});

test('a trusted proxy of this machine can name a local client', () => {
  assert.equal(peerOf('127.0.0.1', [['x-forwarded-for', '127.0.0.1']], ['127.0.0.1']), local);
  assert.equal(peerOf('127.0.0.1', [], ['127.0.0.1']), local);
});

test('what a client writes into headers that its proxy leaves does not make it local', () => {
  for (const headers of [
    [
      ['forwarded', 'for=127.0.0.1'],
      ['x-forwarded-for', '192.0.2.7'],
    ],
    [
      ['x-real-ip', '127.0.0.1'],
      ['x-forwarded-for', '192.0.2.7'],
    ],
    [['x-forwarded-for', '127.0.0.1, unknown']],
    [['x-forwarded-for', '127.0.0.1, ']],
    [['forwarded', 'for=127.0.0.1, by=10.0.0.1']],
    [['forwarded', 'for=127.0.0.1, for=_hidden']],
    [['via', '1.1 proxy']],
    [['x-forwarded-proto', 'https']],
  ] as const) {
    const { address, isLocal } = peerOf('127.0.0.1', headers, ['127.0.0.1']);
    assert.equal({ address, isLocal }, { address: '127.0.0.1', isLocal: false }, JSON.stringify(headers));
  }
});

test('a proxy of another machine cannot name a local client, and one that is not trusted is believed nothing', () => {
  assert.not(peerOf('192.0.2.1', [['x-forwarded-for', '127.0.0.1']], ['192.0.2.1']).isLocal);
  assert.is(peerOf('192.0.2.1', [['x-forwarded-for', '192.0.2.9']], ['192.0.2.2']).address, '192.0.2.1');
});

test('a trusted proxy says whether the client uses TLS', () => {
  const overTls = (name: string, value: string, trusted = ['127.0.0.1']) =>
    peerOf(
      '127.0.0.1',
      [
        ['x-real-ip', '192.0.2.7'],
        [name, value],
      ],
      trusted,
    ).overTls;
  assert.ok(overTls('x-forwarded-proto', 'https'));
  assert.ok(overTls('forwarded', 'for=192.0.2.7;proto=https'));
  assert.not(overTls('x-forwarded-proto', 'http'));
  assert.not(overTls('x-forwarded-proto', 'https', []));
});

test.run();
