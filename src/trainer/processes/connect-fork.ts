import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ProcessExit, type ProcessIdentity, signalGroup } from './process.ts';

/** A process that is no child of this one. */
interface Forked {
  readonly identity: ProcessIdentity;
  readonly ended: Promise<ProcessExit>;
}

/**
 * A process that another one forks, like a child of this one: its standard input and output are a Unix socket.
 *
 * @param fork makes it connect to the socket at the given path; null if it cannot.
 * @returns null if it cannot be forked, or no socket can be made.
 */
export async function connectFork(
  fork: (socketPath: string) => Promise<Forked | null>,
): Promise<ChildProcess | null> {
  // Only this user can enter the folder.
  const folder = await mkdtemp(join(tmpdir(), 'hone-'));
  const server = createServer();
  try {
    const path = join(folder, 'answer');
    const connection = once(server, 'connection');
    connection.catch(() => undefined);
    server.listen(path);
    await once(server, 'listening');
    const forked = await fork(path);
    if (forked === null) return null;
    const [socket] = (await connection) as [Socket];
    return likeChild(socket, forked);
  } catch {
    // The path of a socket has at most 107 bytes, fewer than that of some temporary folders.
    return null;
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function likeChild(socket: Socket, { identity, ended }: Forked): ChildProcess {
  let isAlive = true;
  const like = Object.assign(new EventEmitter(), {
    pid: identity.pid,
    stdin: socket,
    stdout: socket,
    stderr: null,
    kill: (signal: NodeJS.Signals) => isAlive && signalGroup(identity.pid, signal),
  });
  socket.on('error', () => undefined);
  void ended.then(({ code, signal }) => {
    isAlive = false;
    like.emit('exit', code, signal);
  });
  return like as unknown as ChildProcess;
}
