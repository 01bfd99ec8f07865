import { AppError } from '../../errors.ts';
import type { TrainedLoad } from '../protocol/messages.ts';
import { type Child, type ChildProgram, startChild } from './child.ts';
import {
  type Engine,
  type EngineOptions,
  type GenerateRequest,
  type GenerateResult,
  type OnText,
  tooMany,
} from './engine.ts';

/** A model that llama.cpp cannot run: what was trained, and where its base model is. */
export type TrainedModel = Omit<TrainedLoad, 'templatePath' | 'trainingActive'>;

/** A request to such a model. `adapters` names the folder of its adapter; without one the base model answers. */
export type TrainedRequest = Omit<GenerateRequest, 'ggufPath'> & { readonly trained: TrainedModel };

/** Runs such models with the trainer package, each in its own process. */
export interface TrainedEngine
  extends Pick<Engine, 'isLoaded' | 'processes' | 'unload' | 'setTrainingActive' | 'close'> {
  /** @throws AppError as `Engine.generate` does. */
  generate(
    request: TrainedRequest,
    options?: { onText?: OnText; signal?: AbortSignal },
  ): Promise<GenerateResult>;
}

interface Slot {
  readonly key: string;
  readonly child: Promise<Child>;
  /** The same, once its process has started. */
  started: Child | null;
  users: number;
  idle: NodeJS.Timeout | undefined;
}

/** What only llama.cpp does. */
const nothingMore = {
  presencePenalty: 0,
  frequencyPenalty: 0,
  logitBias: [],
  logprobs: null,
  grammar: null,
  lookup: false,
};

function refuseUnsupported(request: TrainedRequest): void {
  const asked = {
    logprobs: request.logprobs !== undefined,
    logit_bias: Object.keys(request.logitBias ?? {}).length > 0,
    presence_penalty: (request.presencePenalty ?? 0) !== 0,
    frequency_penalty: (request.frequencyPenalty ?? 0) !== 0,
    response_format: request.grammar !== undefined,
  };
  const names = Object.entries(asked).flatMap(([name, isAsked]) => (isAsked ? [name] : []));
  if (names.length === 0) return;
  throw new AppError(
    'invalid',
    `This model has no GGUF file and is not run by llama.cpp, which alone supports ${names.join(', ')}. Leave it out.`,
  );
}

/**
 * One model is in memory at a time: its process takes hundreds of megabytes beside the weights. A request to another
 * model waits until the ones before it are answered.
 *
 * @param options.program how to start `python -m trainer answer`.
 */
export function createTrainedEngine(
  options: Pick<EngineOptions, 'idleMs' | 'silenceMs' | 'stallMs' | 'maxPending' | 'logger'> & {
    readonly program: () => Promise<ChildProgram>;
  },
): TrainedEngine {
  const { idleMs, silenceMs, stallMs, maxPending, logger, program } = options;
  /** Requests to each model, running and waiting. */
  const pending = new Map<string, number>();
  const pendingOfAll = () => [...pending.values()].reduce((sum, count) => sum + count, 0);
  let slot: Slot | null = null;
  let waiters: (() => void)[] = [];
  let trainingActive = false;
  let closed = false;

  function wake(): void {
    const woken = waiters;
    waiters = [];
    for (const waiter of woken) waiter();
  }

  async function drop(dropped: Slot, reason: AppError): Promise<void> {
    if (slot === dropped) slot = null;
    clearTimeout(dropped.idle);
    const child = await dropped.child.catch(() => null);
    await child?.end(reason);
    wake();
  }

  function start({ modelKey: key, templatePath, trained }: TrainedRequest): Slot {
    const forget = (): void => {
      if (slot === made) slot = null;
      clearTimeout(made.idle);
      wake();
    };
    const child = program().then((chosen) =>
      startChild(
        chosen,
        { ...trained, templatePath, trainingActive },
        { silenceMs, stallMs },
        (line) => logger.debug({ model: key, line }, 'playground child'),
        forget,
      ),
    );
    const made: Slot = { key, child, started: null, users: 0, idle: undefined };
    child.then((one) => {
      made.started = one;
    }, forget);
    logger.info({ model: key }, 'loading a model for the playground');
    return made;
  }

  /** The slot of the request's model, with this request counted among its users; `null` when it was aborted. */
  async function acquire(request: TrainedRequest, signal: AbortSignal | undefined): Promise<Slot | null> {
    for (;;) {
      if (closed) throw new AppError('unavailable', 'The service is shutting down.');
      if (signal?.aborted) return null;
      if (slot?.started?.ended) slot = null;
      if (slot === null || slot.key === request.modelKey) {
        slot ??= start(request);
        slot.users += 1;
        clearTimeout(slot.idle);
        return slot;
      }
      if (slot.users === 0) {
        await drop(slot, new AppError('conflict', 'The model was unloaded to make room for another.'));
      } else await freed(signal);
    }
  }

  /** Resolves when the slot may have become free, or when the request is aborted. */
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

  function release(used: Slot): void {
    used.users -= 1;
    if (used.users === 0 && slot === used) {
      used.idle = setTimeout(() => {
        logger.info({ model: used.key }, 'unloading an idle model');
        void drop(used, new AppError('conflict', 'The model was unloaded.'));
      }, idleMs);
      used.idle.unref();
    }
    wake();
  }

  const answer: TrainedEngine['generate'] = async (request, { onText, signal } = {}) => {
    refuseUnsupported(request);
    const used = await acquire(request, signal);
    if (used === null) {
      const counts = { promptTokens: 0, cachedTokens: 0, generatedTokens: 0 };
      return { text: '', ...counts, finishReason: 'aborted', timeToFirstTokenMs: 0, durationMs: 0 };
    }
    try {
      const child = await used.child;
      return await child.generate(
        {
          input: request.input,
          templatePath: request.templatePath,
          adapters: [...(request.adapters ?? [])],
          maxTokens: request.maxTokens,
          temperature: request.temperature,
          topP: request.topP,
          seed: request.seed ?? null,
          stop: request.stop ?? [],
          caller: request.caller ?? null,
          ...nothingMore,
        },
        onText,
        signal,
      );
    } finally {
      release(used);
    }
  };

  return {
    async generate(request, options) {
      const others = pendingOfAll();
      if (others >= maxPending) throw tooMany(others);
      const { modelKey: key } = request;
      pending.set(key, (pending.get(key) ?? 0) + 1);
      try {
        return await answer(request, options);
      } finally {
        const left = (pending.get(key) ?? 1) - 1;
        if (left > 0) pending.set(key, left);
        else pending.delete(key);
      }
    },
    isLoaded: (modelKey) => slot?.key === modelKey,
    processes: () =>
      [...new Set([...(slot === null ? [] : [slot.key]), ...pending.keys()])].map((modelKey) => {
        const child = slot?.key === modelKey ? slot.started : null;
        const running = child?.running ?? 0;
        const waiting = Math.max(0, (pending.get(modelKey) ?? 0) - running);
        return { modelKey, running, waiting, memoryBytes: child?.memoryBytes ?? null };
      }),
    async unload(modelKey) {
      if (slot?.key === modelKey) await drop(slot, new AppError('conflict', 'The model was unloaded.'));
    },
    setTrainingActive(active) {
      trainingActive = active;
      slot?.child.then(
        (child) => child.setTraining(active),
        () => undefined,
      );
    },
    async close() {
      closed = true;
      wake();
      if (slot !== null) await drop(slot, new AppError('unavailable', 'The service is shutting down.'));
    },
  };
}
