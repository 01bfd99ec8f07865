import { readdirSync, readFileSync } from 'node:fs';

/** What a process holds at the moment (proc(5), Linux only). */
export interface Resources {
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** @throws Error if the process has ended. */
export function resourcesOf(pid: number): Resources {
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { residentBytes: Number(kilobytes) * 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** For figures that a test prints. */
export const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
