import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 300;

/** When a process started, in the kernel's units; '' if unknown. */
function startOf(pid) {
  try {
    // The name in parentheses can contain anything; the 20th field after it is the start time (proc(5)).
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

/** Removes the lock of a dead process. Of several processes that try, one renames it. */
function takeAway(path, mine) {
  const aside = `${mine}.old`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  const holder = holderOf(aside);
  // Another process was faster and this is its new lock, so put it back.
  if (holder !== null && lives(holder)) linkSync(aside, path);
  rmSync(aside, { force: true });
}

/**
 * Waits until no other setup holds the lock and acquires it; takes over the lock of a dead process.
 * @param onWait called once with the holder's pid if it has to wait.
 * @returns a function that releases the lock.
 */
export async function takeLock(path, onWait) {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${path}.${process.pid}`;
  let waited = false;
  writeFileSync(mine, `${process.pid} ${startOf(process.pid)}\n`);
  try {
    while (true) {
      try {
        // A link is created atomically with its content, unlike a file.
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
