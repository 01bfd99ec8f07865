/** How long a connection may be idle, as in uWebSockets.js. */
export const idleMs = 10_000;
/** Minimum bytes of a body in that time: 16 KB/s, as in uWebSockets.js. */
const leastBytes = 16 * 1024 * (idleMs / 1000);
const checkEveryMs = idleMs / 5;

/** A body that is being received. */
export interface Incoming {
  /** Bytes received after `since` (`performance.now()`). */
  bytes: number;
  since: number;
  /** Reading is paused, so no data is expected. */
  held: boolean;
  giveUp(): void;
}

/** Aborts bodies that arrive too slowly, which would hold a connection and memory indefinitely. */
export interface Patience {
  add(incoming: Incoming): void;
  remove(incoming: Incoming): void;
  end(): void;
}

export function createPatience(): Patience {
  const watched = new Set<Incoming>();
  const check = setInterval(() => {
    const now = performance.now();
    for (const incoming of watched) {
      if (incoming.held || incoming.bytes >= leastBytes) {
        incoming.bytes = 0;
        incoming.since = now;
      } else if (now - incoming.since > idleMs) incoming.giveUp();
    }
  }, checkEveryMs);
  check.unref();
  return {
    add: (incoming) => watched.add(incoming),
    remove: (incoming) => watched.delete(incoming),
    end: () => clearInterval(check),
  };
}
