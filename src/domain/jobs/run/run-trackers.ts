import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { activeStates, unfinishedStates } from '../../../contract/jobs.ts';
import { type TrackerName, trackers } from '../../../contract/training/trackers.ts';
import type { Store } from '../../../db/store.ts';
import { startTracker, type TrackerProcess, type TrackerWord } from '../../../trainer/processes/tracker.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import type { KeptKeys } from '../../access/kept-keys.ts';
import type { Frame, FrameLog } from '../../events/frame-log.ts';
import { type Job, jobName } from '../../job-record/job.ts';

/** Passes the figures of runs to the trackers that they name. Whatever fails here leaves the run as it is. */
export interface RunTrackers {
  /** Takes every published frame; returns at once and never throws. */
  take(frame: Frame): void;
  /** Continues what an earlier service had not passed on. */
  recover(): void;
  /** Ends the processes; a later service continues. */
  close(): Promise<void>;
}

export interface RunTrackersOptions {
  readonly store: Store;
  readonly frames: FrameLog;
  readonly jobsDir: string;
  readonly command: Parameters<typeof startTracker>[0];
  readonly keys: KeptKeys;
  /** How long a tracker may take after the end of a run, and at the end of the service. */
  readonly endMs: number;
  readonly leaveMs: number;
  readonly logger: { warn(fields: object, text: string): void };
}

/** A process, or `null` if there is none for this run: it could not be started, or it ended. */
interface Following {
  process: TrackerProcess | null;
  /** Whether it knows that the run has ended. */
  told: boolean;
}

export function createRunTrackers(options: RunTrackersOptions): RunTrackers {
  const { store, frames, jobsDir, logger } = options;
  const following = new Map<string, Following>();
  let closing = false;
  const folder = (id: number) => join(jobsDir, jobName(id));

  /** Adds a line to the events of a run. */
  function say(id: number, payload: Readonly<Record<string, unknown>>): void {
    try {
      frames.commit((emit) => emit('log', id, payload));
    } catch (error) {
      // It was deleted in the meantime.
      logger.warn(
        { job: jobName(id), error: (error as Error).message },
        'What a tracker said of a run was lost',
      );
    }
  }
  const warn = (id: number, message: string) =>
    say(id, { level: 'warning', kind: 'warning', code: 'tracker_failed', message });

  /** Starts a process, and passes on what it tells of the run. */
  function start(id: number, name: TrackerName): TrackerProcess | null {
    const { label, keys: variables } = trackers[name];
    let complained = false;
    const complain = (why: string) => {
      complained = true;
      warn(id, `${label} does not have all figures of this run: ${why}`);
    };
    const tell = (word: TrackerWord) => {
      if ('failed' in word) return complain(word.failed);
      const message = `${label} has the figures of this run: ${word.where}`;
      say(id, { level: 'info', kind: 'tracker', tracker: name, url: onTheWeb(word.url), message });
    };
    try {
      const key = options.keys.read()[name] ?? options.command.environment[variables[0]];
      const secrets = key === undefined ? {} : Object.fromEntries(variables.map((one) => [one, key]));
      const process = startTracker(options.command, name, folder(id), secrets, tell);
      if (process === null) complain(`it is not installed. "hone track add ${name}" does that.`);
      void process?.ended.then((well) => {
        if (!well && !complained && !closing)
          complain(`it ended; tracker-${name}.log in the folder of the run says why.`);
      });
      return process;
    } catch (error) {
      complain((error as Error).message);
      return null;
    }
  }

  function follow(job: Job, name: TrackerName): Following {
    const place = `${job.id} ${name}`;
    const one: Following = { process: start(job.id, name), told: false };
    following.set(place, one);
    void one.process?.ended.then(() => {
      one.process = null;
      if (!one.told || closing) return;
      following.delete(place);
      // It was resumed before its end was passed on.
      const now = store.jobs.get(job.id) as Job | null;
      if (now !== null && activeStates.includes(now.state)) follow(now, name);
    });
    return one;
  }

  /** Lets a process pass on the end of a run, for a while. */
  async function finish(job: Job, name: TrackerName, one: Following): Promise<void> {
    one.told = true;
    const { process } = one;
    if (process === null) {
      following.delete(`${job.id} ${name}`);
      return;
    }
    process.end(job.state);
    const waiting = new AbortController();
    const late = sleep(options.endMs, true, { signal: waiting.signal, ref: false }).catch(() => false);
    if (await Promise.race([process.ended.then(() => false), late])) {
      process.kill();
      logger.warn({ job: jobName(job.id), tracker: name }, 'A tracker took too long at the end of a run');
    }
    waiting.abort();
  }

  function reconsider(job: Job): void {
    const { tracking } = (job.spec ?? {}) as Partial<JobSpec>;
    const ended = !unfinishedStates.includes(job.state);
    for (const name of tracking?.report_to ?? []) {
      const known = following.get(`${job.id} ${name}`);
      if (known === undefined && ended && !isUnderway(folder(job.id), name)) continue;
      if (known === undefined && job.state === 'queued') continue;
      const one = known ?? follow(job, name);
      if (ended && !one.told) void finish(job, name, one);
    }
  }

  return {
    take(frame) {
      if (closing || frame.type !== 'status') return;
      const id = Number(/^train_(\d+)$/.exec(frame.job_id ?? '')?.[1]);
      // Later: what it says is a frame, too.
      setImmediate(() => {
        const job = closing || Number.isNaN(id) ? null : (store.jobs.get(id) as Job | null);
        if (job !== null) reconsider(job);
      });
    },
    recover() {
      for (const job of store.jobs.tracked() as Job[]) reconsider(job);
    },
    async close() {
      closing = true;
      const processes = [...following.values()].flatMap(({ process }) => process ?? []);
      for (const process of processes) process.leave();
      await Promise.race([
        Promise.all(processes.map(({ ended }) => ended)),
        sleep(options.leaveMs, undefined, { ref: false }),
      ]);
      for (const process of processes) process.kill();
    },
  };
}

/** An address that a browser can open. */
const onTheWeb = (url: string | null) => (url !== null && /^https?:/.test(url) ? url : undefined);

/** Whether a process of an earlier service has begun, and has not ended. */
function isUnderway(jobDir: string, name: TrackerName): boolean {
  const path = join(jobDir, `tracker-${name}.json`);
  try {
    return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).over === false;
  } catch {
    return false;
  }
}
