import type { FrameType } from '../../contract/frames.ts';
import type { Store } from '../../db/store.ts';
import type { EventRow } from '../../db/tables/events.ts';
import { jobName } from '../job-record/job.ts';

/** A frame; `seq` increases with every frame and across restarts. */
export interface Frame {
  readonly seq: number;
  readonly time: string;
  readonly type: FrameType | 'snapshot';
  readonly job_id?: string;
  readonly [field: string]: unknown;
}

/** What becomes of a frame that a client cannot take at once. */
export interface FrameTraits {
  /** A slow client can miss it, because later ones or the log have the same information. */
  readonly droppable: boolean;
  /** It can be replayed. */
  readonly stored: boolean;
}

/** Sends a frame to all clients. */
export type Publish = (frame: Frame, traits: FrameTraits) => void;

/** Collects the frames of a transaction, which are published after the commit. */
export type Emit = (
  type: FrameType,
  jobId: number | null,
  payload: Record<string, unknown>,
  /** When it happened, if not now. */
  time?: string,
) => void;

export interface FrameLog {
  /**
   * Runs a transaction; the frames that it emits are stored in it and published after the commit.
   */
  commit<T>(change: (emit: Emit) => T): T;
  /** Publishes a frame without storing it (live samples, progress between two stored points). */
  send(type: FrameType, jobId: number | null, payload: Record<string, unknown>): void;
  /** The `seq` of the latest frame. */
  newestSeq(): number;
  /** Stored frames after `seq`, oldest first, including those stored during iteration. */
  replay(seq: number): Iterable<Frame>;
}

/** Numbers are reserved in blocks, so that unstored frames rarely cause a write. */
const blockSize = 10_000;
const replayPage = 500;

const droppable: ReadonlySet<string> = new Set(['gpu', 'log']);

/** More frames than are published between two backups of the database. */
const skippedFrames = 100_000_000;

/** Makes the next numbers larger than any that clients know from a database that was lost. */
export function skipFrames({ session }: Pick<Store, 'session'>): void {
  session.set('frames_reserved', Number(session.get('frames_reserved') ?? 0) + skippedFrames);
}

/** A stored event as the frame that was published. */
export const toFrame = (event: EventRow): Frame => ({
  ...event.payload,
  seq: event.seq,
  time: event.time,
  type: event.type as FrameType,
  // The payload of a deleted job's frame names it.
  ...(event.jobId === null ? {} : { job_id: jobName(event.jobId) }),
});

/** Numbers, stores and publishes frames. */
export function createFrameLog(store: Store, publish: Publish): FrameLog {
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
  const make = (...[type, jobId, payload, time]: Parameters<Emit>): EventRow => ({
    seq: next(),
    jobId,
    type,
    time: time ?? new Date().toISOString(),
    payload,
  });
  const tell = (event: EventRow, stored: boolean) =>
    publish(toFrame(event), { droppable: droppable.has(event.type), stored });
  return {
    commit(change) {
      const emitted: EventRow[] = [];
      const result = store.transaction(() =>
        change((...frame) => {
          const event = make(...frame);
          store.events.append(event);
          emitted.push(event);
        }),
      );
      for (const event of emitted) tell(event, true);
      return result;
    },
    send: (type, jobId, payload) => tell(make(type, jobId, payload), false),
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
