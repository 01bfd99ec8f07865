import { join } from 'node:path';
import type { JournalLine } from '../../../contract/journal.ts';
import type { Store } from '../../../db/store.ts';
import {
  endsWithin,
  followTrainer,
  killTrainer,
  readTail,
  type Trainer,
} from '../../../trainer/processes/supervisor.ts';
import type { FrameLog } from '../../events/frame-log.ts';
import { exportFailure, type Job, jobName } from '../../job-record/job.ts';
import type { Models } from '../../models/models.ts';
import { applyLines } from '../job-journal.ts';
import type { JobRecords } from '../job-records.ts';
import { readTrained } from '../trained-file.ts';
import { type EndLine, keepTrained, outcomeOf, type RunEnd } from './run-outcome.ts';
import { removeScratch } from './scratch.ts';

/** Timeouts for a trainer before the service escalates. */
export interface Waits {
  readonly askMs: number;
  readonly termMs: number;
  readonly heartbeatMs: number;
  readonly lingerMs: number;
}

export interface FollowerOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly models: Models;
  readonly waits: Waits;
  /** Hardware usage since the last call for a job, for the trace of a step. */
  readonly takeTrace: (id: number) => Record<string, unknown> | null;
  readonly logger: { warn(fields: object, text: string): void };
}

/** Follows a run: stores its journal lines and finally its outcome. */
export type Follow = (id: number, trainer: Trainer | null, signal: AbortSignal) => Promise<void>;

/** @param folder returns the folder of a job. */
export function createFollower(
  options: FollowerOptions,
  records: JobRecords,
  folder: (id: number) => string,
): Follow {
  const { store, frames, models, waits, logger } = options;

  /** Stores journal lines. @returns the line that ends the run, if it is among them. */
  function storeLines(id: number, lines: readonly JournalLine[], journalOffset: number): EndLine | null {
    return frames.commit((emit) => {
      const before = records.get(id);
      const { job, ending } = applyLines(before, lines, emit, () => options.takeTrace(id));
      const { state, progress, phase, phaseProgress, phaseDetail, lastMetric, clock, artifacts, spec } = job;
      store.jobs.update(id, {
        state,
        progress,
        phase,
        phaseProgress,
        phaseDetail,
        lastMetric,
        clock,
        artifacts,
        spec: spec === before.spec ? undefined : spec,
        // The offset of a line that ends the job is stored together with the outcome.
        journalOffset: ending === null ? journalOffset : undefined,
      });
      return ending;
    });
  }

  /** Stores the outcome of a run; a completed run produces a model. */
  async function storeEnd(id: number, end: RunEnd, isStalled: boolean, journalOffset: number): Promise<void> {
    const { stopRequested } = records.get(id);
    const reached = outcomeOf(end, {
      stopRequested,
      stalledAfterMs: isStalled ? waits.heartbeatMs : null,
    });
    const trained = stopRequested ? null : readTrained(folder(id));
    const { state, change } = trained === null ? reached : keepTrained(reached, trained, records.get(id));
    // The line may be read long after it was written.
    const endedAt = end.kind === 'reported' ? { endedAt: end.line.time } : {};
    const stored = { ...change, ...endedAt, journalOffset };
    if (state !== 'completed') {
      records.end(id, state, stored);
      return;
    }
    const model = await models.adopt({ ...records.get(id), ...stored } as Job, folder(id));
    records.end(id, state, { ...stored, export: model.export }, (emit) => {
      const { modelId, id: number, name } = models.insert(model);
      emit('model', id, { action: 'created', model_id: modelId, id: number, name });
      const message = exportFailure(model.export);
      if (message !== null) {
        emit('log', id, { level: 'warning', kind: 'warning', code: 'export_failed', message });
      }
    });
  }

  /** Gives a trainer that has finished some time to exit, then kills its process group. */
  async function linger(trainer: Trainer | null): Promise<void> {
    if (trainer !== null && !(await endsWithin(trainer, waits.lingerMs)))
      await killTrainer(trainer, waits.termMs);
  }

  return async (id, trainer, signal) => {
    const job = jobName(id);
    let isStalled = false;
    let offset = records.get(id).journalOffset;
    const events = followTrainer(trainer, {
      jobDir: folder(id),
      offset,
      heartbeatMs: waits.heartbeatMs,
      signal,
      onBadLine: (text, reason) =>
        logger.warn({ job, line: text.slice(0, 500), reason }, 'A journal line was skipped'),
    });
    for await (const event of events) {
      if (event.kind === 'stalled') {
        isStalled = true;
        logger.warn({ job, seconds: Math.round(event.silentMs / 1000) }, 'A trainer has stopped responding');
        if (trainer !== null) void killTrainer(trainer, waits.termMs);
      } else if (event.kind === 'end') {
        const { exit, logTail } = event;
        await removeScratch(folder(id));
        await storeEnd(id, { kind: 'unreported', exit, logTail }, isStalled, offset);
      } else {
        offset = event.offset;
        const line = storeLines(id, event.lines, offset);
        if (line === null) continue;
        const logTail = await readTail(join(folder(id), 'log.txt'));
        await storeEnd(id, { kind: 'reported', line, logTail }, isStalled, offset);
        void linger(trainer);
        return;
      }
    }
  };
}
