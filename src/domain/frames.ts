import type { EventRow } from '../db/events.ts';
import type { Store } from '../db/store.ts';
import { jobName } from './job.ts';

/** Kinds of frames on `/ws/training`. */
export type FrameType = 'status' | 'progress' | 'metrics' | 'log' | 'gpu' | 'export' | 'model';

/** A frame on the wire: `seq` grows by every frame and across restarts. */
export interface Frame {
  readonly seq: number;
  readonly time: string;
  readonly type: FrameType | 'snapshot';
  readonly job_id?: string;
  readonly [field: string]: unknown;
}

/** Collects the frames of one change, which are published once it is committed. */
export type Emit = (type: FrameType, jobId: number | null, payload: Record<string, unknown>) => void;

export interface Frames {
  /**
   * Runs a change of the database; the frames that it emits are stored in the same transaction and
   * published after it.
   */
  commit<T>(change: (emit: Emit) => T): T;
  /** Publishes what need not be kept (live samples, progress between two stored points). */
  send(type: FrameType, jobId: number | null, payload: Record<string, unknown>): void;
  /** The number of the newest frame. */
  newestSeq(): number;
  /** Stored frames after `seq`, oldest first; also those that are stored while it is read. */
  replay(seq: number): Iterable<Frame>;
}

/** The numbers are taken in blocks, so that one row is written for many frames that are not stored. */
const blockSize = 10_000;
const replayPage = 500;

/** Frames that a slow reader can miss: the next one, or a page of the log, says the same. */
const droppable: ReadonlySet<string> = new Set(['gpu', 'log']);

/** A stored event as the frame that was published. */
export const toFrame = (event: EventRow): Frame => ({
  ...event.payload,
  seq: event.seq,
  time: event.time,
  type: event.type as FrameType,
  ...(event.jobId === null ? {} : { job_id: jobName(event.jobId) }),
});

/**
 * Numbers, stores and publishes frames.
 * @param publish hands a frame to whoever listens; set by the composition root.
 */
export function createFrames(store: Store, publish: (frame: Frame, droppable: boolean) => void): Frames {
  let reserved = Math.max(store.events.newestSeq(), Number(store.session.get('frames_reserved') ?? 0));
  let seq = reserved;
  const next = () => {
    seq += 1;
    if (seq > reserved) {
      reserved = seq + blockSize;
      store.session.set('frames_reserved', reserved);
    }
    return seq;
  };
  const make = (type: FrameType, jobId: number | null, payload: Record<string, unknown>): EventRow => ({
    seq: next(),
    jobId,
    type,
    time: new Date().toISOString(),
    payload,
  });
  return {
    commit(change) {
      const emitted: EventRow[] = [];
      const result = store.transaction(() =>
        change((type, jobId, payload) => {
          const event = make(type, jobId, payload);
          store.events.append(event);
          emitted.push(event);
        }),
      );
      for (const event of emitted) publish(toFrame(event), droppable.has(event.type));
      return result;
    },
    send: (type, jobId, payload) => publish(toFrame(make(type, jobId, payload)), droppable.has(type)),
    newestSeq: () => seq,
    *replay(after) {
      let from = after;
      while (true) {
        const page = store.events.since(from, replayPage);
        for (const event of page) yield toFrame(event);
        if (page.length === 0) return;
        from = (page.at(-1) as EventRow).seq;
      }
    },
  };
}
