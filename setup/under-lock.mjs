import { takeLock } from './lock.mjs';
import { inRoot } from './paths.mjs';
import { endTools } from './tool.mjs';

/**
 * Runs `work` while holding the setup lock of this folder. SIGINT and SIGTERM end running tools, release the lock and end
 * this process.
 * @returns the result of `work`.
 */
export async function underLock(progress, work) {
  const release = await takeLock(inRoot('build', 'set-up.lock'), (pid) =>
    progress.say(`Waiting for another setup (process ${pid}) …`),
  );
  const end = (signal) => {
    endTools(signal);
    release();
    process.exit(signal === 'SIGINT' ? 130 : 143);
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  try {
    return await work();
  } finally {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
    release();
  }
}
