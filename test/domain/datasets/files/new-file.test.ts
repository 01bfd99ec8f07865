import { spawnSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNewFile } from '../../../../src/domain/datasets/files/new-file.ts';

const dir = mkdtempSync(join(tmpdir(), 'hone-new-file-'));
test.after(() => rmSync(dir, { recursive: true }));

/** Whether this file system takes writes past the page cache. */
function takesDirect(): boolean {
  try {
    closeSync(
      openSync(join(dir, 'probe'), constants.O_WRONLY | constants.O_CREAT | (constants.O_DIRECT ?? NaN)),
    );
    return true;
  } catch {
    return false;
  }
}

/** Whether this process has the file open past the page cache (proc(5), "fdinfo"). */
const openDirectly = (path: string) =>
  readdirSync('/proc/self/fd').some((number) => {
    try {
      if (readlinkSync(`/proc/self/fd/${number}`) !== path) return false;
      const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${number}`, 'utf8'))?.[1] ?? '0';
      return (Number.parseInt(flags, 8) & constants.O_DIRECT) !== 0;
    } catch {
      return false; // the descriptor with which the folder itself was read
    }
  });

/** Bytes without a pattern, the same in every run. */
const varied = (bytes: number) =>
  createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(bytes));

for (const bytes of [0, 1, 2 ** 21 - 1, 2 ** 21, 2 ** 21 + 1, 3 * 2 ** 21 + 4097]) {
  test(`a file of ${bytes} bytes is what was added in pieces of any length`, async () => {
    const whole = varied(bytes);
    const path = join(dir, `${bytes}.bin`);
    const file = await createNewFile(path);
    const piece = Buffer.alloc(700_001);
    for (let at = 0; at < bytes; ) {
      const length = whole.copy(piece, 0, at, at + 1 + (at % piece.length));
      await file.append(piece.subarray(0, length));
      piece.fill(0); // its memory is the caller's again
      at += length;
    }
    if (process.platform === 'linux') assert.is(openDirectly(path), takesDirect());
    await file.sync();
    await file.close();
    assert.ok(readFileSync(path).equals(whole));
  });
}

test('what exists is not written over', async () => {
  const path = join(dir, 'twice');
  await (await createNewFile(path)).close();
  const error = await createNewFile(path).catch((reason) => reason);
  assert.is(error.code, 'EEXIST');
});

test('where the file cannot grow, the system says why', () => {
  // A limit within a block, no multiple of any file system's block, so that the direct write is cut short.
  const program = `
    import { createNewFile } from '${new URL('../../../../src/domain/datasets/files/new-file.ts', import.meta.url)}';
    const file = await createNewFile('${join(dir, 'limited')}');
    await file.append(Buffer.alloc(2 ** 22)).catch((error) => console.log(error.code));
    await file.close();`;
  const node = [process.execPath, '--import', 'tsx', '--input-type=module', '-e', program];
  const { stdout, stderr } = spawnSync(
    'bash',
    ['-c', 'trap "" XFSZ; ulimit -f 3001; exec "$@"', 'bash', ...node],
    { encoding: 'utf8', cwd: new URL('../../../..', import.meta.url) },
  );
  assert.is(stdout.trim(), 'EFBIG', stderr);
});

test.run();
