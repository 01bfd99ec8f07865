import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { JobState } from '../../contract/jobs.ts';
import type { Store } from '../../db/store.ts';
import type { JobChange } from '../../db/tables/jobs.ts';
import type { WrittenModel } from '../../db/tables/models.ts';
import { readJournal } from '../../trainer/journal.ts';
import type { Emit, FrameLog } from '../events/frame-log.ts';
import { defaultName } from '../job-record/identity.ts';
import { type Job, jobName } from '../job-record/job.ts';
import type { Unreadable } from '../job-record/record-files.ts';
import { readModelFile } from '../models/model-file.ts';
import { readAsked } from './asked-file.ts';
import { readIdentity } from './identity-file.ts';
import { applyLines } from './job-journal.ts';
import { type EndLine, outcomeOf } from './run/run-outcome.ts';
import { isTrained } from './trained-file.ts';

/** What was registered again, by name. */
export interface Registered {
  readonly jobs: readonly string[];
  readonly models: readonly string[];
  /** Entries of the database whose folder no longer exists. */
  readonly dropped: readonly string[];
  /** Folders that could not be read, with the reason. */
  readonly unreadable: readonly Unreadable[];
}

/** What a specification tells of its job; the trainer checks the rest when the job is resumed. */
const spec = v.looseObject({
  job_id: v.string(),
  task: v.string(),
  provider: v.string(),
  strategy: v.string(),
  model: v.looseObject({ name: v.string() }),
  dataset: v.looseObject({ name: v.string() }),
  settings: v.looseObject({}),
});

interface FoundJob {
  readonly id: number;
  readonly folder: string;
  readonly spec: v.InferOutput<typeof spec>;
  readonly createdAt: string;
}

interface Places {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly jobsDir: string;
  readonly modelsDir: string;
}

/**
 * Registers the jobs and models whose folders a lost or restored database does not know, or knows in an older state, and
 * drops those whose folder is gone. All in one transaction, with `also`, whose result is returned, too. Runs that ended without being stored, or that
 * still go on, are left in the state `running` for `recoverRuns`.
 */
export async function registerFolders<T>(places: Places, also: () => T): Promise<Registered & { also: T }> {
  const { store, jobsDir, modelsDir } = places;
  const unreadable: Unreadable[] = [];
  async function readAll<T>(dir: string, pattern: RegExp, read: (folder: string) => T | Promise<T>) {
    const found: Awaited<T>[] = [];
    for (const name of (await readdir(dir).catch(() => [])).filter((entry) => pattern.test(entry))) {
      const folder = join(dir, name);
      try {
        found.push(await read(folder));
      } catch (error) {
        unreadable.push({ folder, reason: (error as Error).message });
      }
    }
    return found;
  }
  const models = await readAll(modelsDir, /^[0-9a-f-]{36}$/i, readModelFile);
  models.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  const jobs = await readAll(jobsDir, /^train_[1-9]\d{0,14}$/, readJobFolder);
  jobs.sort((a, b) => a.id - b.id);

  return store.transaction(() => {
    const known = store.jobs.list({ states: [], limit: -1, offset: 0 }).jobs;
    // Not if there is nothing at all: then the disk with the folders may be missing.
    const gone = jobs.length === 0 ? [] : known.filter(({ id }) => !existsSync(join(jobsDir, jobName(id))));
    const goneModels = models.length === 0 ? [] : store.models.list().filter(({ path }) => !existsSync(path));
    for (const { id } of gone) store.jobs.remove(id);
    for (const { id } of goneModels) store.models.remove(id);
    const outdated = jobs.filter((job) => isOutdated(store, job));
    for (const job of outdated) registerJob(places, job, models);
    for (const { id, folder } of jobs) store.jobs.update(id, readIdentity(folder) ?? {});
    const lost = models.filter(({ modelId }) => store.models.byModelId(modelId) === null);
    for (const model of models) {
      const row = store.models.byModelId(model.modelId);
      if (row === null) continue;
      store.models.setFiles(row.id, model);
      store.models.setNames(row.id, model);
    }
    for (const model of lost) {
      const jobId = model.jobId !== null && store.jobs.get(model.jobId) !== null ? model.jobId : null;
      store.models.insert({ ...model, jobId });
    }
    return {
      also: also(),
      jobs: outdated.map(({ id }) => jobName(id)),
      models: lost.map(({ name }) => name),
      dropped: [...gone.map(({ id }) => jobName(id)), ...goneModels.map(({ name }) => name)],
      unreadable,
    };
  });
}

function readJobFolder(folder: string): FoundJob {
  const path = join(folder, 'spec.json');
  const read = v.parse(spec, JSON.parse(readFileSync(path, 'utf8')));
  const id = Number(/_(\d+)$/.exec(folder)?.[1]);
  if (read.job_id !== jobName(id)) throw new Error(`spec.json is that of ${read.job_id}`);
  return { id, folder, spec: read, createdAt: statSync(path).mtime.toISOString() };
}

/** Whether the database lacks a job or lines of its journal, or may not know that it was taken from the queue. */
function isOutdated(store: Store, { id, folder }: FoundJob): boolean {
  const size = statSync(join(folder, 'journal.jsonl'), { throwIfNoEntry: false })?.size ?? 0;
  const row = store.jobs.get(id);
  return row === null || row.journalOffset < size || row.state === 'queued';
}

function registerJob({ store, frames }: Places, found: FoundJob, models: readonly WrittenModel[]): void {
  const { id, folder } = found;
  const before = store.jobs.get(id);
  const model = models.find(({ jobId }) => jobId === id);
  if (before !== null) store.jobs.remove(id);
  store.jobs.insert({
    id,
    modelId: before?.modelId ?? model?.modelId ?? randomUUID(),
    state: 'starting' satisfies JobState,
    task: found.spec.task,
    provider: found.spec.provider,
    strategy: found.spec.strategy,
    modelName: found.spec.model.name,
    datasetName: found.spec.dataset.name,
    createdAt: before?.createdAt ?? found.createdAt,
    displayName: before?.displayName || defaultName(found.spec.dataset.name, found.spec.settings),
  });
  if (before !== null) store.jobs.update(id, { notes: before.notes, tags: before.tags });
  const asked = store.fineTuning.getJob(id) ?? readAsked(folder, id);
  if (asked !== null) store.fineTuning.putJob(asked);
  store.jobs.update(id, { spec: found.spec, stopRequested: existsSync(join(folder, 'stop')) });
  const change = frames.commit((emit) => replay(store.jobs.get(id) as Job, folder, emit, model ?? null));
  store.jobs.update(id, change);
}

/** What the model of a job says of it: it may have been exported again, and was if its run ended during the export. */
const endOf = (model: WrittenModel): JobChange => ({
  state: 'completed' satisfies JobState,
  endedAt: model.createdAt,
  resultMetrics: model.metrics,
  verification: model.verification,
  export: model.export,
});

/**
 * Applies the journal of a job as it was written.
 * @param model the one that it made, if that is still there.
 * @returns what is to be stored. The last end of a run is left for the follower, which also adopts a model, unless the
 * model was adopted before.
 */
function replay(job: Job, folder: string, emit: Emit, model: WrittenModel | null): JobChange {
  const path = join(folder, 'journal.jsonl');
  if (!existsSync(path) && !existsSync(join(folder, 'log.txt'))) return neverStarted;
  let current: Job = job;
  let offset = 0;
  let ending: { line: EndLine; from: number } | null = null;
  while (true) {
    const chunk = readJournal(path, offset, () => undefined);
    if (chunk.offset === offset) break;
    const from = offset;
    offset = chunk.offset;
    ending = null;
    for (const line of chunk.lines) {
      // The end of a run that was resumed afterwards.
      if (line.type === 'done' || line.type === 'failed') {
        ending = { line, from };
        continue;
      }
      if (line.type === 'hello') current = { ...current, startedAt: line.time };
      const emitThen: Emit = (type, jobId, payload) => emit(type, jobId, payload, line.time);
      current = applyLines(current, [line], emitThen, () => null).job;
    }
  }
  const { state, startedAt, phase, phaseProgress, phaseDetail, lastMetric, artifacts, spec: made } = current;
  const applied = { state, startedAt, phase, phaseProgress, phaseDetail, lastMetric, artifacts, spec: made };
  if (model !== null) return { ...applied, ...endOf(model), journalOffset: offset };
  const last = ending?.line ?? null;
  const done = last?.type === 'done' && last.outcome === 'completed' ? last : null;
  const isMoved = !existsSync(join(folder, 'artifacts')) && (done !== null || isTrained(folder));
  if (!isMoved) return { ...applied, journalOffset: ending?.from ?? offset };
  // It ended during the export, and its model was deleted.
  if (done === null) {
    const endedAt = last?.time ?? startedAt;
    return { ...applied, state: 'completed' satisfies JobState, endedAt, journalOffset: offset };
  }
  const { state: ended, change } = outcomeOf(
    { kind: 'reported', line: done, logTail: '' },
    { stopRequested: job.stopRequested, stalledAfterMs: null },
  );
  return { ...applied, ...change, state: ended, endedAt: done.time, journalOffset: offset };
}

const neverStarted: JobChange = {
  state: 'interrupted' satisfies JobState,
  errorCode: 'killed',
  errorMessage: 'The database was lost before this training started.',
  errorAdvice: 'Resume it to start it.',
};
