import { AppError } from '../../errors.ts';
import type { GenerateRequest } from '../../inference/engine/engine.ts';
import type { TrainedRequest } from '../../inference/engine/trained-engine.ts';
import { type GgufWeights, sumOf, type TrainedWeights } from '../checkpoints/weights.ts';

/** How much of what was trained answers. */
export interface Strength {
  /** Use the base model. */
  readonly asBase?: boolean | undefined;
  /** The strength of what the training changed: 0 is the base model, 1 the trained one, 2 twice the change. */
  readonly scale?: number | undefined;
  /** Adds the change of another model, or of its checkpoint, of the same base. */
  readonly blend?:
    | {
        readonly model: string;
        readonly checkpoint?: number | undefined;
        readonly scale?: number | undefined;
      }
    | undefined;
}

/** A model or a checkpoint that answers. */
export interface Source {
  readonly name: string;
  readonly baseModel: string;
  readonly modelId: string;
  readonly isCheckpoint: boolean;
  readonly weights: GgufWeights | TrainedWeights;
  /** Whether all of its weights were trained, so that it has no adapter. */
  readonly isWhole?: boolean;
  /** Why its base is not known, and what to do. */
  readonly unknownBase?: string;
}

/** Whether something can be blended only once its base is found out. */
export const lacksBase = ({ weights }: Source): boolean =>
  !('trained' in weights) && weights.adapter !== null && weights.base === null;

/** What an engine needs to know of the weights. */
export type Mixture = { readonly template: string } & (
  | Required<Pick<GenerateRequest, 'modelKey' | 'ggufPath' | 'adapters'>>
  | Required<Pick<TrainedRequest, 'modelKey' | 'trained' | 'adapters'>>
);

const invalid = (message: string) => new AppError('invalid', message);

/** @throws AppError `invalid` if a request asks for two kinds of weights. */
export function refuseContradictions(
  request: Strength & { readonly checkpoint?: number | undefined; readonly file?: string | undefined },
): void {
  const given = { ...request, as_base: request.asBase || undefined };
  const exclusive = [
    ['file', ['as_base', 'checkpoint', 'scale', 'blend']],
    ['as_base', ['checkpoint', 'scale', 'blend']],
  ] as const;
  for (const [one, others] of exclusive) {
    if (given[one] === undefined) continue;
    const other = others.find((name) => given[name] !== undefined);
    if (other !== undefined) throw invalid(`${other} and ${one} exclude each other. Leave one of them out.`);
  }
}

/** @throws AppError `invalid` if a request to a base model asks for what only a training makes. */
export function refuseForBase(request: Parameters<typeof refuseContradictions>[0]): void {
  const other = (['checkpoint', 'file', 'scale', 'blend'] as const).find(
    (name) => request[name] !== undefined,
  );
  if (other !== undefined)
    throw invalid(`${other} needs a fine-tuned model, and this is a base model. Leave it out.`);
}

/**
 * The file and the adapters with which `source` answers as a request asks: with its strength, and with a second adapter.
 * @throws AppError `invalid` if the source has no adapter for llama.cpp, or the second one is of another base.
 */
export function mixed(
  source: Source,
  { asBase, scale: asked = 1, blend }: Strength,
  other: Source | undefined,
): Mixture {
  const { name, modelId, weights } = source;
  const scale = asBase ? 0 : asked;
  const whole = other === undefined ? undefined : [source, other].find(({ isWhole }) => isWhole);
  if (whole !== undefined) {
    throw invalid(
      `${whole.name} cannot be blended: ${withoutChange}. Choose models that were trained with an adapter.`,
    );
  }
  if ('trained' in weights) {
    if (other !== undefined) throw invalid(`${name} cannot be blended: llama.cpp does not run it.`);
    if (scale !== 0 && scale !== 1) {
      const why = source.isWhole ? withoutChange : 'llama.cpp does not run it';
      throw invalid(`The scale of ${name} must be 0 or 1, because ${why}.`);
    }
    return { ...weights, modelKey: modelId, adapters: scale === 0 ? [] : weights.adapters };
  }
  const { template, gguf, unmerge, adapter } = weights;
  const key = { template, modelKey: gguf, ggufPath: gguf };
  const second =
    other === undefined ? [] : [{ path: adapterBeside(source, other), scale: blend?.scale ?? 1 }];
  if (adapter === null) {
    if (scale !== 1) throw withoutAdapter(source, asBase === true);
    return { ...key, adapters: second };
  }
  return { ...key, adapters: sumOf([...unmerge, { path: adapter, scale }, ...second]) };
}

/** Why a model has no change that could be weaker, or go beside that of another model. */
const withoutChange = 'all of its weights were trained, so it has no adapter';

function withoutAdapter({ name, isWhole }: Source, asBase: boolean): AppError {
  const why = isWhole ? withoutChange : 'its adapter could not be converted for llama.cpp';
  return invalid(
    asBase
      ? `The base model of ${name} is not available: ${why}.`
      : `The scale of ${name} must be 1, because ${why}.`,
  );
}

/** The path of the other's adapter. @throws AppError `invalid` unless it is known to fit. */
function adapterBeside(source: Source, other: Source): string {
  if ('trained' in other.weights || other.weights.adapter === null) {
    throw invalid(`${other.name} cannot be blended: it has no adapter for llama.cpp.`);
  }
  if (source.modelId === other.modelId) return other.weights.adapter;
  const bases = [source, other].map(({ weights }) => ('trained' in weights ? null : weights.base));
  if (bases[0] === bases[1] && bases[0] !== null) return other.weights.adapter;
  const unknown = [source, other].find((_, index) => bases[index] === null);
  if (unknown !== undefined) {
    throw invalid(
      `${source.name} and ${other.name} cannot be blended, because an earlier version trained ${unknown.name} and did not record its base, which cannot be found out now: ${unknown.unknownBase}`,
    );
  }
  const same = source.baseModel === other.baseModel ? ', whose files changed in between' : '';
  throw invalid(
    `${other.name} cannot be blended with ${source.name}: it was trained on ${other.baseModel}, the other on ${source.baseModel}${same}. Choose two models of the same base.`,
  );
}
