/** How the service talks to a process that another one forks; here this process plays it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectFork } from '../../src/trainer/processes/connect-fork.ts';
import type { ProcessExit } from '../../src/trainer/processes/process.ts';

/** Sends nothing; the process group 0 is that of this process. */
const probe = 0 as unknown as NodeJS.Signals;

test('a fork is written to and read like a child, and is not signalled after its end', async () => {
  let end: (exit: ProcessExit) => void = () => {};
  const ended = new Promise<ProcessExit>((resolve) => {
    end = resolve;
  });
  const like = await connectFork(async (path) => {
    const socket = connect(path);
    socket.on('data', (data) => socket.end(`heard ${data}`));
    return { identity: { pid: 0, started: '' }, ended };
  });
  assert.ok(like);
  like.stdin?.write('a question');
  const [answer] = await once(like.stdout as NodeJS.ReadableStream, 'data');
  assert.is(String(answer), 'heard a question');
  assert.is(like.kill(probe), true);
  const exit = once(like, 'exit');
  end({ code: 3, signal: null });
  assert.equal(await exit, [3, null]);
  assert.is(like.kill(probe), false, 'another process may have its number by now');
  like.stdin?.destroy();
});

test('where nothing can be forked, there is no child', async () => {
  assert.is(await connectFork(async () => null), null);
  assert.is(await connectFork(() => Promise.reject(new Error('no fork'))), null);
});

test.run();
