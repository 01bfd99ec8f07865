/**
 * The time of steps that are judged together: a single one is also slow when the garbage collector runs, and Windows counts
 * CPU time in ticks of 16 ms.
 */
const tellingMs = 100;
/**
 * Only so many threads are judged. The more there are, the less CPU time do the parts of a step take that one thread does
 * alone, and the less does it show that one of them waits.
 */
const judgedThreads = 2;
/** With two threads on idle cores a step took 0.85 to 0.9 of the CPU time that they could; below this, one was quicker. */
const leastShare = 0.7;
/** How long one thread is used then, before several are tried again: twice as long each time that they are still slow. */
const firstMs = 1000;
const mostMs = 60_000;

/** A step that several threads have evaluated. */
interface Step {
  readonly threads: number;
  readonly wallMs: number;
  /** CPU time of the process. */
  readonly cpuMs: number;
}

/**
 * Knows whether other processes use the cores. llama.cpp's threads spin while they wait for each other, so that two of
 * them evaluate a step up to 15 times slower than one if they do not get a core each.
 */
export interface Contention {
  /** Whether one thread should evaluate the next step. @param atMs as of `performance.now()` */
  isContended(atMs: number): boolean;
  /** Tells a step of several threads. @param atMs when it ended */
  add(step: Step, atMs: number): void;
}

export function createContention(): Contention {
  let until = Number.NEGATIVE_INFINITY;
  let nextMs = firstMs;
  let [wall, cpu, possible] = [0, 0, 0];
  return {
    isContended: (atMs) => atMs < until,
    add({ threads, wallMs, cpuMs }, atMs) {
      if (threads !== judgedThreads) return;
      wall += wallMs;
      cpu += cpuMs;
      possible += threads * wallMs;
      if (wall < tellingMs) return;
      const isQuick = cpu >= leastShare * possible;
      [wall, cpu, possible] = [0, 0, 0];
      if (isQuick) {
        nextMs = firstMs;
        return;
      }
      until = atMs + nextMs;
      nextMs = Math.min(mostMs, 2 * nextMs);
    },
  };
}
