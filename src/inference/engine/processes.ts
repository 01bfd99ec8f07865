import { AppError } from '../../errors.ts';
import type { Child } from './child.ts';
import type { Needs } from './memory-needs.ts';

interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ProcessOptions {
  /** Idle time after which a model is unloaded. */
  idleMs: number;
  /** A model's process that gives no sign of life for this long during a request is killed. */
  silenceMs: number;
  /** A model's process that answers, but loads and evaluates nothing for this long during a request, is killed. */
  stallMs: number;
  /** The most requests at a time, running and waiting; more are refused. */
  maxPending: number;
  logger: Log;
}

/** What the processes hold and how one is started, for requests `R`. */
export interface ProcessKind<R extends { readonly modelKey: string }> {
  /** The most models in memory; the least recently used one is unloaded first. */
  readonly maxLoaded: number;
  /** Whether `maxPending` is for each model, or for all together. */
  readonly isPendingPerModel: boolean;
  /** What a process is started with besides the name of the model; it is replaced when that changes. */
  fileOf(request: R): string;
  /** Absent where the memory of models is not counted. */
  readonly memory?: {
    needsOf(request: R): Promise<Needs>;
    /** Free memory in bytes; `null` if models are not kept in it, as with a GPU. */
    available(): Promise<number | null>;
    /** The error of a model that takes more memory than there is without any other. */
    tooLarge(request: R, needsBytes: number, freeBytes: number): AppError;
  };
  start(
    request: R,
    trainingActive: () => boolean,
    log: (line: string) => void,
    onEnd: () => void,
  ): Promise<Child>;
}

/** A file in memory, or one that requests wait for. */
export interface ModelProcess {
  readonly modelKey: string;
  /** Requests that are being answered, and those that wait. */
  readonly running: number;
  readonly waiting: number;
  /** Resident memory; `null` before the process has told it. */
  readonly memoryBytes: number | null;
}

const notCounted: Needs = { weights: 0, context: 0 };
const sumOf = ({ weights, context }: Needs) => weights + context;

/** Waiting requests are not told when there is room; after this time it is worth another attempt. */
const retryAfterSeconds = 5;

/** The error of a request that may not wait behind so many `others`. */
const tooMany = (others: number): AppError =>
  new AppError(
    'too_many',
    `The model already has ${others} requests, and no more may wait. Try again in ${retryAfterSeconds} seconds.`,
    { details: { retryAfterSeconds } },
  );

/** A model's process, and what uses it. */
interface Held {
  readonly child: Promise<Child>;
  /** The same, once its process has started. */
  started: Child | null;
  readonly file: string;
  readonly needs: Needs;
  /** Requests that hold the process, from before they are sent until they are answered. */
  users: number;
  usedAt: number;
  idle: NodeJS.Timeout | undefined;
}

/** The processes that hold models, as many as the options and the memory allow. */
export interface Processes<R> {
  /**
   * Does `work` with a model's process, which is started unless it runs; another one that nobody uses may end for it.
   * @returns `null` if the request was aborted before.
   * @throws AppError as `Engine.generate` does.
   */
  use<T>(request: R, signal: AbortSignal | undefined, work: (child: Child) => Promise<T>): Promise<T | null>;
  isLoaded(modelKey: string): boolean;
  list(): ModelProcess[];
  /** Free memory in bytes, if the processes that nobody uses are ended; `null` if it is not known. */
  freeMemory(): Promise<number | null>;
  /** Ends a model's process. */
  unload(modelKey: string): Promise<void>;
  setTrainingActive(active: boolean): void;
  close(): Promise<void>;
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share the processes and who waits for one
export function createProcesses<R extends { readonly modelKey: string }>(
  { idleMs, maxPending, logger }: ProcessOptions,
  kind: ProcessKind<R>,
): Processes<R> {
  const held = new Map<string, Held>();
  /** Requests to each model, also those that wait for its process. */
  const pending = new Map<string, number>();
  /** Called when a process may have become free. */
  let waiters: (() => void)[] = [];
  let trainingActive = false;
  let closed = false;
  let clock = 0;

  function wake(): void {
    const woken = waiters;
    waiters = [];
    for (const waiter of woken) waiter();
  }

  async function drop(key: string, dropped: Held, reason: AppError): Promise<void> {
    if (held.get(key) === dropped) held.delete(key);
    clearTimeout(dropped.idle);
    const child = await dropped.child.catch(() => null);
    await child?.end(reason);
    wake();
  }

  function start(key: string, request: R, needs: Needs): Held {
    const forget = (): void => {
      if (held.get(key) === made) {
        held.delete(key);
        clearTimeout(made.idle);
        logger.warn({ model: key }, "the playground's process has ended");
      }
      wake();
    };
    const log = (line: string) => logger.debug({ model: key, line }, 'playground child');
    const child = kind.start(request, () => trainingActive, log, forget);
    const file = kind.fileOf(request);
    const made: Held = { child, started: null, file, needs, users: 0, usedAt: ++clock, idle: undefined };
    held.set(key, made);
    child.then((one) => {
      made.started = one;
    }, forget);
    logger.info({ model: key }, 'loading a model for the playground');
    return made;
  }

  /** The process of the request's model, with this request counted among its users; `null` when it was aborted. */
  async function acquire(request: R, signal: AbortSignal | undefined): Promise<Held | null> {
    const key = request.modelKey;
    for (;;) {
      if (closed) throw new AppError('unavailable', 'The service is shutting down.');
      if (signal?.aborted) return null;
      let found = held.get(key);
      if (found?.started?.ended) {
        held.delete(key);
        found = undefined;
      }
      const same = found?.file === kind.fileOf(request);
      if (found !== undefined && (same || found.users > 0)) {
        if (!same) {
          await freed(signal);
          continue;
        }
        found.users += 1;
        clearTimeout(found.idle);
        return found;
      }
      if (found !== undefined) {
        await drop(key, found, new AppError('conflict', 'The model was replaced.'));
        continue;
      }
      let needs = notCounted;
      let left = Number.POSITIVE_INFINITY;
      if (kind.memory !== undefined) {
        needs = await kind.memory.needsOf(request);
        left = await roomFor(needs);
        // In the meantime, another request may have started it, or the engine was closed.
        if (held.has(key) || closed) continue;
      }
      if (left >= 0 && held.size < kind.maxLoaded) {
        const started = start(key, request, needs);
        started.users += 1;
        return started;
      }
      const oldest = [...held]
        .filter(([, other]) => other.users === 0)
        .sort((a, b) => a[1].usedAt - b[1].usedAt)[0];
      if (oldest !== undefined) {
        const reason = new AppError('conflict', 'The model was unloaded to make room for another.');
        await drop(oldest[0], oldest[1], reason);
      } else if (held.size > 0) await freed(signal);
      else if (kind.memory) throw kind.memory.tooLarge(request, sumOf(needs), sumOf(needs) + left);
    }
  }

  /** Bytes that stay free beside a model. */
  async function roomFor(needs: Needs): Promise<number> {
    const free = await freeBeside([...held.values()]);
    return free === null ? Number.POSITIVE_INFINITY : free - sumOf(needs);
  }

  /** Free memory beside these models. The system counts their weights, which it could read again, as free. */
  async function freeBeside(loaded: readonly Held[]): Promise<number | null> {
    const free = (await kind.memory?.available()) ?? null;
    return free === null ? null : free - loaded.reduce((sum, { needs }) => sum + needs.weights, 0);
  }

  /** Resolves at the next change of the processes, or when the request is aborted. */
  function freed(signal: AbortSignal | undefined): Promise<void> {
    // It may have been aborted while the memory was looked at.
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const go = (): void => {
        signal?.removeEventListener('abort', go);
        resolve();
      };
      signal?.addEventListener('abort', go, { once: true });
      waiters.push(go);
    });
  }

  function release(key: string, used: Held): void {
    used.users -= 1;
    used.usedAt = ++clock;
    if (used.users === 0 && held.get(key) === used) {
      used.idle = setTimeout(() => {
        logger.info({ model: key }, 'unloading an idle model');
        void drop(key, used, new AppError('conflict', 'The model was unloaded.'));
      }, idleMs);
      used.idle.unref();
    }
    wake();
  }

  const pendingOf = (key: string) => pending.get(key) ?? 0;
  const pendingOfAll = () => [...pending.values()].reduce((sum, count) => sum + count, 0);

  return {
    async use(request, signal, work) {
      const key = request.modelKey;
      const others = kind.isPendingPerModel ? pendingOf(key) : pendingOfAll();
      if (others >= maxPending) throw tooMany(others);
      pending.set(key, pendingOf(key) + 1);
      try {
        const used = await acquire(request, signal);
        if (used === null) return null;
        try {
          return await work(await used.child);
        } finally {
          release(key, used);
        }
      } finally {
        const left = pendingOf(key) - 1;
        if (left > 0) pending.set(key, left);
        else pending.delete(key);
      }
    },
    isLoaded(modelKey) {
      const found = held.get(modelKey);
      return found !== undefined && !found.started?.ended;
    },
    list: () =>
      [...new Set([...held.keys(), ...pending.keys()])].map((modelKey) => {
        const child = held.get(modelKey)?.started;
        const running = child?.running ?? 0;
        const waiting = Math.max(0, pendingOf(modelKey) - running);
        return { modelKey, running, waiting, memoryBytes: child?.memoryBytes ?? null };
      }),
    freeMemory: () => freeBeside([...held.values()].filter(({ users }) => users > 0)),
    async unload(modelKey) {
      const found = held.get(modelKey);
      if (found !== undefined)
        await drop(modelKey, found, new AppError('conflict', 'The model was unloaded.'));
    },
    setTrainingActive(active) {
      trainingActive = active;
      for (const { child } of held.values())
        child.then(
          (one) => one.setTraining(active),
          () => undefined,
        );
    },
    async close() {
      closed = true;
      wake();
      const reason = new AppError('unavailable', 'The service is shutting down.');
      await Promise.all([...held].map(([key, one]) => drop(key, one, reason)));
    },
  };
}
