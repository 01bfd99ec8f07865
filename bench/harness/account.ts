import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Clock ticks a second in /proc (USER_HZ, which is 100 on every architecture that Node runs on). */
const ticksPerSecond = 100;

/**
 * Processor time of a running process so far, user and system, all its threads, ended ones included; its
 * children are not in it. In steps of 10 ms.
 */
export function cpuSecondsOf(pid: number): number {
  if (process.platform === 'linux') {
    // The second field is the name in parentheses, in which anything may stand; fields 14 and 15 are the times.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  }
  const [minutes = '0', seconds = '0'] = execFileSync('ps', ['-o', 'time=', '-p', String(pid)], {
    encoding: 'utf8',
  })
    .trim()
    .split(':')
    .slice(-2);
  return Number(minutes) * 60 + Number(seconds);
}

/** Resident memory of a running process now and, where the system keeps it, at its highest. */
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
