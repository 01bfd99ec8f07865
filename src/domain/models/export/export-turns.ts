/** Work that runs one at a time, and begins only while the machine is free. */
export interface Turns {
  /** Does `work` when it is its turn, or at once if `signal` is aborted, so that it can say so. */
  take(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Looks again whether the machine is free. */
  reconsider(): void;
}

export function createTurns(isFree: () => boolean): Turns {
  const waiting: (() => void)[] = [];
  let isBusy = false;

  function reconsider(): void {
    if (isBusy || waiting.length === 0 || !isFree()) return;
    isBusy = true;
    waiting.shift()?.();
  }

  return {
    async take(work, signal) {
      let isMine = false;
      await new Promise<void>((resolve) => {
        const begin = () => {
          isMine = true;
          resolve();
        };
        waiting.push(begin);
        const leave = () => {
          const at = waiting.indexOf(begin);
          if (at >= 0) waiting.splice(at, 1);
          resolve();
        };
        if (signal.aborted) leave();
        signal.addEventListener('abort', leave, { once: true });
        reconsider();
      });
      try {
        await work();
      } finally {
        if (isMine) {
          isBusy = false;
          reconsider();
        }
      }
    },
    reconsider,
  };
}
