import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** How messages travel to and from a child. */
export interface Channel {
  send(message: object): void;
  /** What the child prints that is not a message. */
  readonly printed: readonly (Readable | null)[];
}

/**
 * The channel of a child: Node's own to a program of Node, JSON lines on the standard streams to any other.
 * `take` is called with each message.
 */
export function openChannel(child: ChildProcess, take: (message: unknown) => void): Channel {
  if (child.channel !== undefined) {
    child.on('message', take);
    return {
      send: (message) => {
        if (child.connected) child.send(message, () => undefined);
      },
      printed: [child.stdout, child.stderr],
    };
  }
  // A process that has ended does not read.
  child.stdin?.on('error', () => undefined);
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message = parsed(line);
      if (message !== undefined) take(message);
    });
  }
  return {
    send: (message) => {
      if (child.stdin?.writable) child.stdin.write(`${JSON.stringify(message)}\n`);
    },
    printed: [child.stderr],
  };
}

/** `undefined` for the half line of a process that was killed. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
