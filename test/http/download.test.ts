/** A download holds bounded memory, whatever its client does, and its bytes are right. */
import { createHash } from 'node:crypto';
import { truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { endAll, temporaryFolder } from '../service.ts';
import { engines, type LittleServer, residentBytes, startLittleServer } from './engines.ts';

const fileBytes = 2 ** 30;
const grownBytes = 50e6;
let servers: LittleServer[] = [];
let small: Buffer;

test.before(async () => {
  servers = [];
  small = Buffer.from(Array.from({ length: 1_000_003 }, (_, at) => (at * 7 + (at >> 8)) % 251));
  for (const name of engines) {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'large.bin'), '');
    // Sparse: it takes no room on the disk.
    truncateSync(join(folder, 'large.bin'), fileBytes);
    writeFileSync(join(folder, 'small.bin'), small);
    servers.push(await startLittleServer(name, folder));
  }
});
test.after(async () => {
  await Promise.all(servers.map((server) => server.end()));
  await endAll();
});

/** The most that a server's memory grows by while `work` runs, after a first download has warmed it up. */
async function growthWhile({ pid, port }: LittleServer, work: () => Promise<void>): Promise<number> {
  await fetch(`http://127.0.0.1:${port}/api/files/small.bin`).then((response) => response.arrayBuffer());
  const before = residentBytes(pid);
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, residentBytes(pid) - before);
  }, 10);
  await work();
  clearInterval(timer);
  return most;
}

/** Asks for the large file and reads it as `pace` says, which is called with each piece and what came in all. */
function download(
  { port }: LittleServer,
  pace: (socket: ReturnType<typeof connect>, bytes: number) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const socket = connect(port, '127.0.0.1', () =>
      socket.write('GET /api/files/large.bin HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'),
    );
    socket.on('data', (piece) => {
      bytes += piece.length;
      pace(socket, bytes);
    });
    socket.on('close', () => resolve(bytes));
    socket.on('error', reject);
  });
}

for (const name of engines) {
  const server = () => servers[engines.indexOf(name)] as LittleServer;

  test(`${name}: a gigabyte for a fast client`, async () => {
    const growth = await growthWhile(server(), async () => {
      assert.ok((await download(server(), () => undefined)) > fileBytes);
    });
    assert.ok(growth < grownBytes, `${growth} bytes more`);
  });

  test(`${name}: clients that are slow, and that stop`, async () => {
    const growth = await growthWhile(server(), async () => {
      const slow = Array.from({ length: 5 }, () =>
        download(server(), (socket, bytes) => {
          if (bytes > 5e6) socket.destroy();
          socket.pause();
          setTimeout(() => socket.resume(), 20);
        }),
      );
      const stopped = Array.from({ length: 5 }, () =>
        download(server(), (socket, bytes) => {
          if (bytes < 1e5) return;
          socket.pause();
          setTimeout(() => socket.destroy(), 3_000);
        }),
      );
      await Promise.all([...slow, ...stopped]);
    });
    assert.ok(growth < grownBytes, `${growth} bytes more`);
  });

  test(`${name}: every byte is right, however slowly it is read`, async () => {
    const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
    const got: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      const socket = connect(server().port, '127.0.0.1', () =>
        socket.write('GET /api/files/small.bin HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'),
      );
      socket.on('data', (piece: Buffer) => {
        got.push(piece);
        socket.pause();
        void sleep(1).then(() => socket.resume());
      });
      socket.on('close', () => resolve());
      socket.on('error', reject);
    });
    const whole = Buffer.concat(got);
    const body = whole.subarray(whole.indexOf('\r\n\r\n') + 4);
    assert.is(digest(body), digest(small));
    // Many at once, each another part.
    const parts = await Promise.all(
      Array.from({ length: 50 }, async (_, place) => {
        const start = place * 17_001;
        const response = await fetch(`http://127.0.0.1:${server().port}/api/files/small.bin`, {
          headers: { range: `bytes=${start}-` },
        });
        assert.is(response.status, 206);
        return digest(new Uint8Array(await response.arrayBuffer())) === digest(small.subarray(start));
      }),
    );
    assert.ok(parts.every(Boolean));
  });

  test(`${name}: nothing was warned of`, () => {
    assert.equal(
      server()
        .told()
        .filter((line) => line.startsWith('stderr')),
      [],
    );
  });
}

test.run();
