/**
 * Throttles `act` to once every `intervalMs`: hundreds of frames can arrive per second, and drawing them would compete with
 * training for the CPU.
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
