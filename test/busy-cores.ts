import { cpus } from 'node:os';

/** @returns a function that measures how many cores all processes of this machine together used since its last call. */
export function busyCores(): () => number {
  const read = () =>
    cpus().map(({ times: { idle, ...busy } }) => {
      const busyMs = Object.values(busy).reduce((sum, ms) => sum + ms, 0);
      return { busyMs, allMs: busyMs + idle };
    });
  let before = read();
  return () => {
    const now = read();
    const used = now.map(({ busyMs, allMs }, core) => {
      const earlier = before[core] ?? { busyMs: 0, allMs: 0 };
      return allMs > earlier.allMs ? (busyMs - earlier.busyMs) / (allMs - earlier.allMs) : 0;
    });
    before = now;
    return used.reduce((sum, share) => sum + share, 0);
  };
}
