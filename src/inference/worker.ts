/** The child process that holds one model. It receives requests over IPC and knows no secrets. */
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import * as v from 'valibot';
import { asAppError } from '../errors.ts';
import { type LoadedModel, loadModel } from './loaded-model.ts';
import { type FromWorker, type ToWorker, toWorker } from './protocol.ts';

type Order = Extract<ToWorker, { type: 'generate' }>;

let model: Promise<LoadedModel> | null = null;
let trainingActive = false;
/** Requests are processed one at a time, in order of arrival. */
let tail: Promise<void> = Promise.resolve();
let running: number | null = null;
/** What the process has done so far, in parts of unequal size. */
let steps = 0;
const countStep = () => {
  steps += 1;
};
const aborts = new Map<number, AbortController>();

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
  return loadModel(llama, message.ggufPath, message.templatePath, trainingActive, countStep);
}

async function answer(order: Order, signal: AbortSignal): Promise<void> {
  try {
    if (model === null) throw new Error('A request arrived before the model was loaded.');
    const loaded = await model;
    // a request aborted while queued has already been answered
    if (signal.aborted) return;
    running = order.id;
    const result = await loaded.generate(order, signal, (delta) => {
      tell({ type: 'text', id: order.id, delta });
    });
    tell({ type: 'done', id: order.id, result });
  } catch (error) {
    if (!signal.aborted || running === order.id) fail(order.id, error);
  } finally {
    running = null;
    aborts.delete(order.id);
  }
}

function abort(id: number): void {
  const controller = aborts.get(id);
  if (controller === undefined) return;
  controller.abort();
  if (running === id) return;
  const result = {
    text: '',
    promptTokens: 0,
    generatedTokens: 0,
    finishReason: 'aborted' as const,
    timeToFirstTokenMs: 0,
    durationMs: 0,
  };
  tell({ type: 'done', id, result });
}

function take(message: ToWorker): void {
  switch (message.type) {
    case 'load':
      trainingActive = message.trainingActive;
      model = load(message);
      model.then(
        () => tell({ type: 'loaded' }),
        (error: unknown) => fail(null, error),
      );
      return;
    case 'generate': {
      const controller = new AbortController();
      aborts.set(message.id, controller);
      tail = tail.then(() => answer(message, controller.signal));
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
