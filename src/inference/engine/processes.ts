import { basename } from 'node:path';
import { AppError } from '../../errors.ts';
import { type Child, nodeProgram, startChild } from './child.ts';
import { type Needs, needsOf } from './memory-needs.ts';

interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ProcessOptions {
  workerPath: string;
  /** A library that is loaded into each process before all others; none if absent. */
  preload?: string | null;
  gpu: 'auto' | false;
  /** Idle time after which a model is unloaded. */
  idleMs: number;
  /** A model's process that gives no sign of life for this long during a request is killed. */
  silenceMs: number;
  /** A model's process that answers, but loads and evaluates nothing for this long during a request, is killed. */
  stallMs: number;
  /** The most models in memory; the least recently used one is unloaded first. */
  maxLoaded: number;
  /**
   * The machine's free memory in bytes, or `null` if models are not kept in it, as with a GPU. A model that takes more is
   * refused.
   */
  available?: () => Promise<number | null>;
  logger: Log;
}

/** A file that holds a model, and the name of the model between requests. */
export interface ModelFiles {
  readonly modelKey: string;
  readonly ggufPath: string;
}

const sumOf = ({ weights, context }: Needs) => weights + context;
const gigabytes = (bytes: number) => `${(Math.max(0, bytes) / 2 ** 30).toFixed(2)} GB`;

const tooLarge = (path: string, needs: number, free: number): AppError =>
  new AppError(
    'unavailable',
    `The model file ${basename(path)} takes ${gigabytes(needs)} of memory, and ${gigabytes(free)} are free. End other programs, or use a smaller type of the model.`,
    { details: { needsBytes: needs, freeBytes: Math.max(0, free) } },
  );

/** A model's process, and what uses it. */
interface Slot {
  readonly child: Child;
  readonly ggufPath: string;
  readonly needs: Needs;
  /** Requests that hold the slot, from before they are sent until they are answered. */
  users: number;
  usedAt: number;
  idle: NodeJS.Timeout | undefined;
}

/** The processes that hold models, as many as the options and the memory allow. */
export interface Processes {
  /**
   * Does `work` with a model's process, which is started unless it runs; another one that nobody uses may end for it.
   * @returns `null` if the request was aborted before.
   * @throws AppError as `Engine.generate` does.
   */
  use<T>(
    files: ModelFiles,
    signal: AbortSignal | undefined,
    work: (child: Child) => Promise<T>,
  ): Promise<T | null>;
  /** The process of a model, if there is one. */
  childOf(modelKey: string): Child | undefined;
  keys(): string[];
  /** Free memory in bytes, if the processes that nobody uses are ended; `null` if it is not known. */
  freeMemory(): Promise<number | null>;
  /** Ends a model's process. */
  unload(modelKey: string): Promise<void>;
  setTrainingActive(active: boolean): void;
  close(): Promise<void>;
}

export function createProcesses(options: ProcessOptions): Processes {
  const { workerPath, preload = null, gpu, idleMs, silenceMs, stallMs, maxLoaded, logger } = options;
  const available = options.available ?? (async () => null);
  const slots = new Map<string, Slot>();
  /** Called when a slot may have become free. */
  let waiters: (() => void)[] = [];
  let trainingActive = false;
  let closed = false;
  let clock = 0;

  function wake(): void {
    const woken = waiters;
    waiters = [];
    for (const waiter of woken) waiter();
  }

  async function drop(key: string, slot: Slot, reason: AppError): Promise<void> {
    if (slots.get(key) === slot) slots.delete(key);
    clearTimeout(slot.idle);
    await slot.child.end(reason);
    wake();
  }

  function start(key: string, request: ModelFiles, needs: Needs): Slot {
    const child = startChild(
      nodeProgram(workerPath, preload),
      { ggufPath: request.ggufPath, gpu, trainingActive },
      { silenceMs, stallMs },
      (line) => logger.debug({ model: key, line }, 'playground child'),
      () => {
        const slot = slots.get(key);
        if (slot?.child === child) {
          slots.delete(key);
          clearTimeout(slot.idle);
          logger.warn({ model: key }, "the playground's process has ended");
        }
        wake();
      },
    );
    const slot: Slot = {
      child,
      ggufPath: request.ggufPath,
      needs,
      users: 0,
      usedAt: ++clock,
      idle: undefined,
    };
    slots.set(key, slot);
    logger.info({ model: key }, 'loading a model for the playground');
    return slot;
  }

  /** The slot of the request's model, with this request counted among its users. */
  async function acquire(request: ModelFiles, signal: AbortSignal | undefined): Promise<Slot | null> {
    const key = request.modelKey;
    for (;;) {
      if (closed) throw new AppError('unavailable', 'The service is shutting down.');
      if (signal?.aborted) return null;
      let slot = slots.get(key);
      if (slot?.child.ended) {
        slots.delete(key);
        slot = undefined;
      }
      const same = slot?.ggufPath === request.ggufPath;
      if (slot !== undefined && (same || slot.users > 0)) {
        if (!same) {
          await freed(signal);
          continue;
        }
        slot.users += 1;
        clearTimeout(slot.idle);
        return slot;
      }
      if (slot !== undefined) {
        await drop(key, slot, new AppError('conflict', 'The model was replaced.'));
        continue;
      }
      const needs = await needsOf(request.ggufPath);
      const left = await roomFor(needs);
      // In the meantime, another request may have started it.
      if (slots.has(key)) continue;
      if (left >= 0 && slots.size < maxLoaded) {
        const started = start(key, request, needs);
        started.users += 1;
        return started;
      }
      const oldest = [...slots]
        .filter(([, other]) => other.users === 0)
        .sort((a, b) => a[1].usedAt - b[1].usedAt)[0];
      if (oldest !== undefined) {
        const reason = new AppError('conflict', 'The model was unloaded to make room for another.');
        await drop(oldest[0], oldest[1], reason);
      } else if (slots.size > 0) await freed(signal);
      else throw tooLarge(request.ggufPath, sumOf(needs), sumOf(needs) + left);
    }
  }

  /** Bytes that stay free beside a model. */
  async function roomFor(needs: Needs): Promise<number> {
    const free = await freeBeside([...slots.values()]);
    return free === null ? Number.POSITIVE_INFINITY : free - sumOf(needs);
  }

  /** Free memory beside the models of these slots. The system counts their weights, which it could read again, as free. */
  async function freeBeside(loaded: readonly Slot[]): Promise<number | null> {
    const free = await available();
    return free === null ? null : free - loaded.reduce((sum, { needs }) => sum + needs.weights, 0);
  }

  /** Resolves at the next change of the slots, or when the request is aborted. */
  function freed(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        signal?.removeEventListener('abort', go);
        resolve();
      };
      signal?.addEventListener('abort', go, { once: true });
      waiters.push(go);
    });
  }

  function release(key: string, slot: Slot): void {
    slot.users -= 1;
    slot.usedAt = ++clock;
    if (slot.users === 0 && slots.get(key) === slot) {
      slot.idle = setTimeout(() => {
        logger.info({ model: key }, 'unloading an idle model');
        void drop(key, slot, new AppError('conflict', 'The model was unloaded.'));
      }, idleMs);
      slot.idle.unref();
    }
    wake();
  }

  return {
    async use(files, signal, work) {
      const slot = await acquire(files, signal);
      if (slot === null) return null;
      try {
        return await work(slot.child);
      } finally {
        release(files.modelKey, slot);
      }
    },
    childOf: (modelKey) => slots.get(modelKey)?.child,
    keys: () => [...slots.keys()],
    freeMemory: () => freeBeside([...slots.values()].filter(({ users }) => users > 0)),
    async unload(modelKey) {
      const slot = slots.get(modelKey);
      if (slot !== undefined) await drop(modelKey, slot, new AppError('conflict', 'The model was unloaded.'));
    },
    setTrainingActive(active) {
      trainingActive = active;
      for (const { child } of slots.values()) child.setTraining(active);
    },
    async close() {
      closed = true;
      wake();
      const reason = new AppError('unavailable', 'The service is shutting down.');
      await Promise.all([...slots].map(([key, slot]) => drop(key, slot, reason)));
    },
  };
}
