import * as v from 'valibot';
import { samplingNames, samplingParameters } from '../../contract/sampling.ts';
import { AppError } from '../../errors.ts';
import {
  abortedResult,
  type GenerateOrder,
  type GenerateResult,
  generateOrder,
} from '../protocol/generation.ts';
import type { TrainedLoad } from '../protocol/messages.ts';
import { type ChildProgram, startChild } from './child.ts';
import type { Engine, GenerateOptions, GenerateRequest } from './engine.ts';
import { createProcesses, type ProcessOptions } from './processes.ts';

/** A model that llama.cpp cannot run: what was trained, and where its base model is. */
export type TrainedModel = Omit<TrainedLoad, 'templatePath' | 'trainingActive'>;

/** A request to such a model. `adapters` names the folder of its adapter; without one the base model answers. */
export type TrainedRequest = Omit<GenerateRequest, 'ggufPath'> & { readonly trained: TrainedModel };

/** Runs such models with the trainer package, each in its own process. */
export interface TrainedEngine
  extends Pick<Engine, 'isLoaded' | 'processes' | 'unload' | 'setTrainingActive' | 'close'> {
  /** @throws AppError as `Engine.generate` does. */
  generate(request: TrainedRequest, options?: GenerateOptions): Promise<GenerateResult>;
}

/** @throws AppError `invalid` for what only llama.cpp does. */
function refuseUnsupported(order: GenerateOrder): void {
  const { input } = order;
  const hasTools =
    input.kind === 'messages' &&
    (input.tools !== undefined || input.messages.some(({ calls, answers }) => calls ?? answers));
  const names = [
    ...(hasTools ? ['tools'] : []),
    ...(order.logprobs === null ? [] : ['logprobs']),
    ...(Object.keys(order.logitBias).length === 0 ? [] : ['logit_bias']),
    ...samplingNames
      .filter((name) => order[name] !== samplingParameters[name].neutral)
      .map((name) => samplingParameters[name].field),
    ...(order.ignoreEos ? ['ignore_eos'] : []),
    ...(order.echo ? ['echo'] : []),
    ...(order.maxTokens === 0 ? ['max_tokens of 0'] : []),
    ...(order.input.kind === 'tokens' ? ['prompts of token IDs'] : []),
    ...(order.input.kind === 'text' && order.input.suffix !== undefined ? ['suffix'] : []),
    ...(order.schema === null ? [] : ['response_format']),
  ];
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
  options: ProcessOptions & { readonly program: () => Promise<ChildProgram> },
): TrainedEngine {
  const processes = createProcesses<TrainedRequest>(options, {
    maxLoaded: 1,
    isPendingPerModel: false,
    fileOf: ({ modelKey }) => modelKey,
    async start({ templatePath, trained }, trainingActive, log, onEnd) {
      const program = await options.program();
      const load = { ...trained, templatePath, trainingActive: trainingActive() };
      return startChild(program, load, options, log, onEnd);
    },
  });

  return {
    async generate(request, { onText, signal } = {}) {
      const order = v.parse(generateOrder, request);
      refuseUnsupported(order);
      const result = await processes.use(request, signal, (child) => child.generate(order, onText, signal));
      return result ?? abortedResult();
    },
    isLoaded: processes.isLoaded,
    processes: processes.list,
    unload: processes.unload,
    setTrainingActive: processes.setTrainingActive,
    close: processes.close,
  };
}
