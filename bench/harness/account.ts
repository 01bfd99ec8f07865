import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Clock ticks per second in /proc (USER_HZ, which is 100 on every architecture that Node supports). */
const ticksPerSecond = 100;

/**
 * The CPU time of a running process so far, user and system, including threads that have ended, and if asked (on Linux)
 * child processes that have. The resolution is 10 ms.
 */
export function cpuSecondsOf(pid: number, children?: 'with ended children'): number {
  if (process.platform === 'linux') {
    // The second field is the name in parentheses, which may contain any character; fields 14 and 15 are the times, 16 and
    // 17 those of children.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const times = fields.slice(11, children === undefined ? 13 : 15);
    return times.reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond;
  }
  const [minutes = '0', seconds = '0'] = execFileSync('ps', ['-o', 'time=', '-p', String(pid)], {
    encoding: 'utf8',
  })
    .trim()
    .split(':')
    .slice(-2);
  return Number(minutes) * 60 + Number(seconds);
}

/** Resident memory of a running process: the current value and, if the system records it, the peak. */
export function memoryOf(pid: number): { readonly bytes: number; readonly peakBytes: number | null } {
  if (process.platform === 'linux') {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kib = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN);
    return { bytes: kib('VmRSS') * 1024, peakBytes: kib('VmHWM') * 1024 };
  }
  const text = execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  return { bytes: Number(text.trim()) * 1024, peakBytes: null };
}

/** The peak memory of the largest child process that runs now; 0 if there is none, or where the system does not tell. */
export function childPeakBytes(pid: number): number {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    // One that has ended, and was not waited for yet, has none.
    return Math.max(0, ...children.map((child) => memoryOf(Number(child)).peakBytes || 0));
  } catch {
    return 0; // it has ended in the meantime
  }
}
