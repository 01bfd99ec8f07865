import { execFileSync } from 'node:child_process';

/** Process IDs of a process's own children whose command line contains `words`. */
export function childrenOf(parent: number | undefined, words: string): number[] {
  const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], {
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  return listed
    .split('\n')
    .filter((line) => line.includes(words))
    .map((line) => line.trim().split(/\s+/, 2).map(Number))
    .filter(([, of]) => of === parent)
    .map(([pid]) => pid as number);
}
