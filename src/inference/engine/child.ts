import { type ChildProcess, fork } from 'node:child_process';
import * as v from 'valibot';
import { allowedEnvironment, childVariables } from '../../contract/child-environment.ts';
import { hasCrashed } from '../../contract/crashes.ts';
import { AppError } from '../../errors.ts';
import type { GenerateOrder, GenerateResult, TokenChoice } from '../protocol/generation.ts';
import {
  type embedResult,
  type FromWorker,
  fromWorker,
  type ToWorker,
  type TrainedLoad,
} from '../protocol/messages.ts';
import { openChannel } from './channel.ts';

type EmbedOrder = Omit<Extract<ToWorker, { type: 'embed' }>, 'type' | 'id'>;
export type EmbedResult = v.InferOutput<typeof embedResult>;
type LoadOrder = Omit<Extract<ToWorker, { type: 'load' }>, 'type'> | TrainedLoad;

/** An aborted child that does not respond within this time is killed. Evaluating one prompt batch takes less. */
const abortPatienceMs = 30_000;
/** A child is asked for a sign of life this often within its time; it may miss all but the last. */
const pingsPerBound = 4;

/** When a child that has requests is killed, in milliseconds. */
export interface Patience {
  /** It gives no sign of life for this long: it was stopped. */
  readonly silenceMs: number;
  /** It answers, but loads and evaluates nothing for this long: it hangs in llama.cpp. */
  readonly stallMs: number;
}
/** How many trailing characters of the child's stderr an error can show. */
const keptComplaints = 2000;

/** A child process that holds one model. */
export interface Child {
  /** Requests that it has begun to answer. */
  readonly running: number;
  /** Its resident memory as it told last; `null` before it has. */
  readonly memoryBytes: number | null;
  /** Whether the process has ended. */
  readonly ended: boolean;
  generate(order: GenerateOrder, onText?: OnText, signal?: AbortSignal): Promise<GenerateResult>;
  embed(order: EmbedOrder, signal?: AbortSignal): Promise<EmbedResult>;
  setTraining(active: boolean): void;
  /** Ends the process; pending requests fail with `reason`. Resolves once the process has exited. */
  end(reason: AppError): Promise<void>;
}

/** Hears a part of the answer, and with `logprobs` its tokens since the last call. */
export type OnText = (delta: string, tokens: readonly TokenChoice[]) => void;

interface Waiting {
  resolve(result: GenerateResult | EmbedResult): void;
  reject(error: Error): void;
  onText: OnText | undefined;
  hasBegun: boolean;
}

function endedBy(code: number | null, signal: NodeJS.Signals | null): string {
  return signal !== null ? `by signal ${signal}` : `with exit code ${code}`;
}

/** How to start a program that runs a model. */
export type ChildProgram = () => ChildProcess;

/** @param preload a library to load before all others but those that the environment names; `null` for none */
export const nodeProgram =
  (workerPath: string, preload: string | null): ChildProgram =>
  () => {
    const env = allowedEnvironment(process.env, childVariables.engine);
    const preloaded = [env.LD_PRELOAD, preload].filter(Boolean).join(':');
    return fork(workerPath, [], {
      env: { ...env, LD_PRELOAD: preloaded || undefined },
      serialization: 'json',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
  };

/**
 * Starts a child and loads a model in it. A child that exhausts the patience is killed. `onEnd` is called once, after the process has exited.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its handlers share the state of one process
export function startChild(
  program: ChildProgram,
  order: LoadOrder,
  { silenceMs, stallMs }: Patience,
  log: (line: string) => void,
  onEnd: () => void,
): Child {
  const waiting = new Map<number, Waiting>();
  let nextId = 0;
  let gone: Error | null = null;
  let complaints = '';
  /** Whether the model has answered, at least in part. */
  let answered = false;
  let memoryBytes: number | null = null;

  const process_ = program();
  const channel = openChannel(process_, (raw) => {
    if (gone !== null) return;
    const { success, output } = v.safeParse(fromWorker, raw);
    if (success) hear(output);
    else giveUp('sent a message that is not in its protocol');
  });
  for (const stream of channel.printed) {
    stream?.setEncoding('utf8');
    stream?.on('data', (chunk: string) => {
      complaints = (complaints + chunk).slice(-keptComplaints);
      log(chunk.trimEnd());
    });
  }

  /** Counted instead of timed: after the machine slept, a child has not been silent. */
  let unanswered = 0;
  /** Signs of life since the last step. */
  let idle = 0;
  let steps = -1;
  const pingMs = Math.min(silenceMs, stallMs) / pingsPerBound;
  const watch = setInterval(() => {
    if (waiting.size === 0 || gone !== null) {
      unanswered = 0;
      idle = 0;
    } else if (idle * pingMs >= stallMs) {
      giveUp(`made no progress for ${stallMs / 1000} s`);
    } else if (unanswered * pingMs >= silenceMs) {
      giveUp(`gave no sign of life for ${silenceMs / 1000} s`);
    } else {
      unanswered += 1;
      tell({ type: 'ping' });
    }
  }, pingMs);
  watch.unref();

  function giveUp(why: string): void {
    gone = new AppError(
      'unavailable',
      `The playground's process ${why} and was ended. The next request starts a new one.`,
    );
    process_.kill('SIGKILL');
  }

  const exited = new Promise<void>((resolve) => {
    const finish = (error: Error): void => {
      clearInterval(watch);
      if (gone === null) gone = error;
      const open = [...waiting.values()];
      waiting.clear();
      for (const request of open) request.reject(gone);
      onEnd();
      resolve();
    };
    process_.once('error', (cause) => {
      // a process that failed to start emits no exit event
      if (process_.pid === undefined) {
        finish(
          new AppError('internal', `Could not start the playground's process: ${cause.message}`, { cause }),
        );
      }
    });
    process_.once('exit', (code, signal) => {
      const details = { code, signal, complaints };
      const how = `The playground's process ended ${endedBy(code, signal)}`;
      finish(
        !answered && hasCrashed(code, signal)
          ? new AppError('invalid', `${how} before its first answer: the model's file is damaged.`, {
              details,
            })
          : new AppError('unavailable', `${how}. The next request starts a new one.`, { details }),
      );
    });
  });

  function tell(message: ToWorker | ({ type: 'load' } & TrainedLoad)): void {
    channel.send(message);
  }

  function hear(message: FromWorker): void {
    unanswered = 0;
    if (message.type === 'alive') {
      idle = message.steps === steps ? idle + 1 : 0;
      steps = message.steps;
      return;
    }
    if ('memoryBytes' in message) memoryBytes = message.memoryBytes ?? null;
    if (message.type === 'loaded') return;
    if (message.type === 'failed' && message.id === null) {
      // the model could not be loaded: every request fails with this error, and the process is useless
      const { kind, details } = message;
      if (gone === null) gone = new AppError(kind, message.message, { details });
      process_.kill('SIGKILL');
      return;
    }
    const id = message.id as number;
    const request = waiting.get(id);
    if (request === undefined) return;
    if (message.type === 'begun') {
      request.hasBegun = true;
      return;
    }
    answered = true;
    if (message.type === 'text') {
      request.onText?.(message.delta, message.tokens);
      return;
    }
    waiting.delete(id);
    if (message.type === 'done' || message.type === 'embedded') request.resolve(message.result);
    else request.reject(new AppError(message.kind, message.message, { details: message.details }));
  }
  tell({ type: 'load', ...order });

  async function ask(
    order: GenerateOrder | EmbedOrder,
    onText: OnText | undefined,
    signal: AbortSignal | undefined,
  ): Promise<GenerateResult | EmbedResult> {
    if (gone !== null) throw gone;
    const id = nextId++;
    let patience: NodeJS.Timeout | undefined;
    const abort = (): void => {
      tell({ type: 'abort', id });
      patience = setTimeout(() => process_.kill('SIGKILL'), abortPatienceMs);
      patience.unref();
    };
    try {
      return await new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject, onText, hasBegun: false });
        tell('inputs' in order ? { type: 'embed', id, ...order } : { type: 'generate', id, ...order });
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort, { once: true });
      });
    } finally {
      clearTimeout(patience);
      signal?.removeEventListener('abort', abort);
    }
  }

  return {
    get running() {
      return [...waiting.values()].filter(({ hasBegun }) => hasBegun).length;
    },
    get memoryBytes() {
      return memoryBytes;
    },
    get ended() {
      return gone !== null;
    },
    generate: async (order, onText, signal) => (await ask(order, onText, signal)) as GenerateResult,
    embed: async (order, signal) => (await ask(order, undefined, signal)) as EmbedResult,
    setTraining(active) {
      tell({ type: 'training', active });
    },
    async end(reason) {
      if (gone === null) gone = reason;
      process_.kill('SIGKILL');
      await exited;
    },
  };
}
