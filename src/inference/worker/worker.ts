/** The child process that holds one model. It receives requests over IPC and knows no secrets. */
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import * as v from 'valibot';
import { asAppError } from '../../errors.ts';
import type { TokenChoice } from '../protocol/generation.ts';
import { abortedResult } from '../protocol/generation.ts';
import { type FromWorker, type ToWorker, toWorker } from '../protocol/messages.ts';
import { type LoadedModel, loadModel } from './loaded-model.ts';

let model: Promise<LoadedModel> | null = null;
let trainingActive = false;
/** What the process has done so far, in parts of unequal size. */
let steps = 0;
const countStep = () => {
  steps += 1;
};
const aborts = new Map<number, AbortController>();
/** Requests that wait for the model to be loaded, each with what it is told if it is aborted. */
const unloaded = new Map<number, FromWorker>();

function tell(message: FromWorker): void {
  process.send?.(message);
}

function fail(id: number | null, error: unknown): void {
  const { kind, message, details } = asAppError(error);
  tell({
    type: 'failed',
    id,
    kind: kind === 'invalid' || kind === 'not_found' ? kind : 'internal',
    message,
    details: { ...details },
  });
}

async function load(message: Extract<ToWorker, { type: 'load' }>): Promise<LoadedModel> {
  const llama = await getLlama({ gpu: message.gpu, build: 'never', logLevel: LlamaLogLevel.error });
  return loadModel(llama, message.ggufPath, trainingActive, countStep);
}

/** Does `work` once the model is loaded. */
async function answer(
  id: number,
  ifAborted: FromWorker,
  work: (loaded: LoadedModel, signal: AbortSignal) => Promise<FromWorker>,
): Promise<void> {
  const { signal } = aborts.set(id, new AbortController()).get(id) as AbortController;
  try {
    if (model === null) throw new Error('A request arrived before the model was loaded.');
    unloaded.set(id, ifAborted);
    const loaded = await model.finally(() => unloaded.delete(id));
    // A request aborted before has already been answered.
    if (signal.aborted) return;
    tell(await work(loaded, signal));
  } catch (error) {
    fail(id, error);
  } finally {
    aborts.delete(id);
  }
}

function abort(id: number): void {
  aborts.get(id)?.abort();
  const told = unloaded.get(id);
  unloaded.delete(id);
  if (told !== undefined) tell(told);
}

function take(message: ToWorker): void {
  switch (message.type) {
    case 'load':
      trainingActive = message.trainingActive;
      model = load(message);
      model.then(
        () => tell({ type: 'loaded', memoryBytes: process.memoryUsage.rss() }),
        (error: unknown) => fail(null, error),
      );
      return;
    case 'generate': {
      const { id } = message;
      void answer(id, { type: 'done', id, result: abortedResult() }, async (loaded, signal) => {
        const onText = (delta: string, tokens: readonly TokenChoice[]) =>
          tell({ type: 'text', id, delta, tokens: [...tokens] });
        const onBegun = () => tell({ type: 'begun', id, memoryBytes: process.memoryUsage.rss() });
        const result = await loaded.generate(message, signal, onText, onBegun);
        return { type: 'done', id, result, memoryBytes: process.memoryUsage.rss() };
      });
      return;
    }
    case 'embed': {
      const { id } = message;
      const none = { embeddings: [], promptTokens: 0 };
      void answer(id, { type: 'embedded', id, result: none }, async (loaded, signal) => ({
        type: 'embedded',
        id,
        result: await loaded.embed(message, signal),
      }));
      return;
    }
    case 'abort':
      abort(message.id);
      return;
    case 'ping':
      tell({ type: 'alive', steps });
      return;
    case 'training':
      trainingActive = message.active;
      model?.then(
        (loaded) => loaded.setTraining(trainingActive),
        () => undefined,
      );
  }
}

process.on('message', (message) => take(v.parse(toWorker, message)));
// the service has exited
process.on('disconnect', () => process.exit(0));
// Ctrl+C in a terminal signals the whole process group; the service decides when its children end
process.on('SIGINT', () => undefined);
