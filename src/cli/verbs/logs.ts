import { setTimeout as sleep } from 'node:timers/promises';
import { isAtRest, type JobView } from '../../client/follow-run.ts';
import { AppError } from '../../errors.ts';
import type { Command } from '../command.ts';
import { printJson, withQuery, write } from '../output.ts';

const pollMs = 500;
/** How much of the log is looked at again to find what is new. */
const followedBytes = 2 ** 20;
/** Long enough to be found once. */
const overlap = 4096;

/** What follows in `now` after what was read before. */
export function newPart(before: string, now: string): string {
  if (now.startsWith(before)) return now.slice(before.length);
  const end = before.slice(-overlap);
  const at = now.lastIndexOf(end);
  return at === -1 ? now : now.slice(at + end.length);
}

export const logs: Command = {
  name: 'logs',
  about: "Prints the end of a training's log, or with --json its events; of the newest one by default.",
  operands: ['[RUN]'],
  examples: ['hone logs', 'hone logs -f', 'hone logs train_3 --bytes 1000000', 'hone logs train_3 --json'],
  flags: { follow: { about: 'Print what is written, until the training ends.' } },
  async run({ operands, fields, own, json, connect }) {
    const { client } = await connect();
    const newest = async () => (await client.get<{ jobs: JobView[] }>('/api/jobs?limit=1')).jobs[0]?.job_id;
    const run = operands[0] ?? (await newest());
    if (run === undefined) throw new AppError('not_found', 'There is no training yet.');
    const path = `/api/jobs/${encodeURIComponent(run)}`;
    if (json) {
      printJson(await client.get(`${path}/events`));
      return 0;
    }
    const read = async (bytes: Readonly<Record<string, unknown>>) =>
      (await client.open(withQuery(`${path}/log`, bytes), { method: 'GET' })).text();
    let seen = await read(fields);
    write(seen);
    while (own.follow !== undefined) {
      const { state, ...rest } = await client.get<JobView>(path);
      const now = await read({ bytes: followedBytes });
      write(newPart(seen, now));
      seen = now;
      if (isAtRest({ ...rest, state })) break;
      await sleep(pollMs);
    }
    return 0;
  },
};
