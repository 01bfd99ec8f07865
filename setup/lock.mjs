import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 300;

/** When a process started, as the kernel counts it; '' where that cannot be known. */
function startOf(pid) {
  try {
    // The name in parentheses may hold anything; the 20th field after it is the start time (proc(5)).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function lives({ pid, start }) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code !== 'EPERM') return false;
  }
  return start === '' || startOf(pid) === start;
}

function holderOf(path) {
  try {
    const [pid, start = ''] = readFileSync(path, 'utf8').trim().split(' ');
    return { pid: Number(pid), start };
  } catch {
    return null;
  }
}

/** Removes the lock of a dead process. Of several who find it dead, one renames it. */
function takeAway(path, mine) {
  const aside = `${mine}.old`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const holder = holderOf(aside);
  // Another was faster, and what was renamed is its new lock: it is put back.
  if (holder !== null && lives(holder)) linkSync(aside, path);
  rmSync(aside, { force: true });
}

/**
 * Waits until no other set-up holds the lock, and takes it; the lock of a dead process is taken over.
 * @param onWait called once with the holder's pid when there is something to wait for.
 * @returns gives the lock back.
 */
export async function takeLock(path, onWait) {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${path}.${process.pid}`;
  let waited = false;
  writeFileSync(mine, `${process.pid} ${startOf(process.pid)}\n`);
  try {
    while (true) {
      try {
        // A link appears with its content or not at all, unlike a file that is created and then written.
        linkSync(mine, path);
        return () => rmSync(path, { force: true });
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const holder = holderOf(path);
      if (holder !== null && !lives(holder)) {
        takeAway(path, mine);
        continue;
      }
      if (holder !== null && !waited) {
        waited = true;
        onWait(holder.pid);
      }
      await sleep(POLL_MS);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}
