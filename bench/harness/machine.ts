import { arch, cpus, release, totalmem, type } from 'node:os';

/** A description of the measuring machine. */
export function describeMachine(): string {
  const all = cpus();
  const gibibytes = Math.round(totalmem() / 2 ** 30);
  const model = (all[0]?.model ?? arch()).trim();
  return `${model}, ${all.length} logical cores, ${gibibytes} GiB, ${type()} ${release()}, Node ${process.versions.node}`;
}
