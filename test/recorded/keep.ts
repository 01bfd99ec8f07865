/*
 * Makes the fixture of recorded runs from folders that `record.ts` has filled:
 *   node --import tsx test/recorded/keep.ts OUT DIR…
 */
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { JournalLine } from '../../src/contract/journal.ts';
import { openStore, type Store } from '../../src/db/store.ts';
import { createModelSizes } from '../../src/domain/base-models/model-size.ts';
import { type Job, jobName } from '../../src/domain/job-record/job.ts';
import { createEarlierRuns } from '../../src/domain/jobs/earlier-runs.ts';
import { planRun } from '../../src/domain/jobs/run/plan-run.ts';
import { root } from '../folders.ts';
import { type RecordedRun, shorten } from './recorded-run.ts';

const [out, ...folders] = process.argv.slice(2) as [string, ...string[]];
const patience = { timeoutMs: 1, backoffMs: 1, waitMs: 0 };
const sizeOf = createModelSizes({ endpoint: 'http://127.0.0.1:9', token: null, offline: true, patience });

interface Log {
  readonly job: string;
  readonly waited: readonly (readonly [at: number, ms: number])[];
}

const readLines = <T>(path: string): T[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** Tells how long a run had waited at a time, by the samples before and after. */
const waitedIn = (samples: Log['waited']) => (at: number) => {
  const after = samples.findIndex(([time]) => time > at);
  if (after <= 0) return (after === 0 ? samples[0] : samples.at(-1))?.[1] ?? 0;
  const [[from, low], [to, high]] = samples.slice(after - 1, after + 1) as [
    [number, number],
    [number, number],
  ];
  return low + ((high - low) * (at - from)) / (to - from);
};

/** The store as it was when a job started, with the times that `waited` leaves of each job. */
function before(store: Store, id: number, waited: (job: number) => (at: number) => number): Store {
  const moved = (job: number, time: string | null) =>
    time === null ? null : new Date(Date.parse(time) - waited(job)(Date.parse(time))).toISOString();
  const metric = (job: number, time: string, point: Record<string, unknown>) => {
    const [end, elapsed] = [Date.parse(time), 1000 * (point.elapsed_seconds as number)];
    const waiting = waited(job)(end) - waited(job)(end - elapsed);
    return { ...point, elapsed_seconds: (elapsed - waiting) / 1000 };
  };
  const { jobs, events } = store;
  return {
    ...store,
    jobs: {
      ...jobs,
      list(filter) {
        const found = jobs.list({ ...filter, limit: 1000 });
        const earlier = (found.jobs as Job[]).filter((job) => job.id < id);
        return {
          ...found,
          jobs: earlier.map((job) => ({
            ...job,
            startedAt: moved(job.id, job.startedAt),
            endedAt: moved(job.id, job.endedAt),
            lastMetric:
              job.lastMetric &&
              (metric(job.id, job.lastMetric.time, { ...job.lastMetric }) as Job['lastMetric']),
          })),
        };
      },
    },
    events: {
      ...events,
      ofJob: (job, type) =>
        events.ofJob(job, type).map((event) => ({ ...event, time: moved(job, event.time) as string })),
      bySeq: (seqs) =>
        events
          .bySeq(seqs)
          .map((event) => ({ ...event, payload: metric(event.jobId as number, event.time, event.payload) })),
    },
  };
}

async function runsOf(folder: string): Promise<RecordedRun[]> {
  const data = join(folder, 'data');
  const aside = mkdtempSync(join(tmpdir(), 'recorded-'));
  for (const name of readdirSync(join(data, 'database')))
    if (/sqlite(-wal)?$/.test(name)) copyFileSync(join(data, 'database', name), join(aside, name));
  const store = openStore(join(aside, 'hone.sqlite'), join(root, 'src', 'db', 'migrations'));
  const logs = new Map(readLines<Log>(join(folder, 'runs.jsonl')).map((log) => [log.job, log]));
  const { jobs } = store.jobs.list({ states: ['completed'], limit: 1000, offset: 0 });
  const runs = (jobs as Job[])
    .sort((one, other) => one.id - other.id)
    .filter(({ id }) => logs.has(jobName(id)));
  const bytesPerRow = (name: string) => {
    const text = readFileSync(join(data, 'datasets', name), 'utf8');
    return text.length / text.trim().split('\n').length;
  };
  const parametersOf = async (name: string) => (await sizeOf(name)).parameters;
  const kept = async (job: Job, waits: boolean): Promise<RecordedRun> => {
    const waited = (id: number) => (waits ? () => 0 : waitedIn(logs.get(jobName(id))?.waited ?? []));
    const earlierRuns = createEarlierRuns(before(store, job.id, waited));
    const plan = await planRun(job, { earlierRuns, bytesPerRow, parametersOf });
    const journal = readLines<JournalLine>(join(data, 'jobs', jobName(job.id), 'journal.jsonl'));
    const started = Date.parse(job.startedAt as string);
    const model = job.modelName.split('/').slice(-2).join(' ');
    return {
      kind: `${model} ${job.strategy} ${job.task}`,
      plan,
      waits,
      lines: shorten(journal, started, waited(job.id)),
    };
  };
  return Promise.all(
    runs.flatMap((job) => {
      const isSampled = (logs.get(jobName(job.id)) as Log).waited.length > 0;
      return [kept(job, true), ...(isSampled ? [kept(job, false)] : [])];
    }),
  );
}

const runs = (await Promise.all(folders.map(runsOf))).flat();
const text = runs.map((run) => `${JSON.stringify(run)}\n`).join('');
const packed = gzipSync(text, { level: 9 });
writeFileSync(out, packed);
console.log(`${runs.length} runs, ${text.length} bytes, ${packed.length} packed`);
