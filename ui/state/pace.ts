/**
 * Calls `act` soon after it is asked to, but not more often than every `intervalMs`: frames may come by the
 * hundred a second, and the processor that would draw them all may be the one that trains.
 */
export function paced(act: () => void, intervalMs = 100): { ask(): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let last = 0;
  return {
    ask() {
      if (timer !== null) return;
      const wait = Math.max(0, last + intervalMs - performance.now());
      timer = setTimeout(() => {
        timer = null;
        last = performance.now();
        act();
      }, wait);
    },
    cancel() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
