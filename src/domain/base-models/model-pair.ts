import { type RowShape, rowShapes } from '../../contract/rows.ts';
import type { Description } from '../../trainer/protocol.ts';
import type { ModelKind } from './gguf/gguf-verdict.ts';

/** The class suffix of text generation models in transformers. */
export const continues = /(?:ForCausalLM|LMHeadModel)$/;

/** Whether a model is a text generation model (a decoder), or has one as its text part; an unknown one counts as one. */
export const isDecoder = ({ architecture, textType }: ModelKind): boolean =>
  architecture === null || continues.test(architecture) || textType !== null;

type Parts = Pick<Description, 'text_parts'>;

/** Whether a model is multimodal, and stored as one with its text part. */
export const hasMoreThanText = ({ architecture }: ModelKind, { text_parts: parts }: Parts): boolean =>
  architecture !== null && parts.architectures.includes(architecture);

/** Whether a model is multimodal, and has a text part that can be trained alone. */
export const hasTextPart = (kind: ModelKind, description: Parts): boolean =>
  hasMoreThanText(kind, description) &&
  [kind.textType, kind.modelType].some(
    (type) => type !== null && description.text_parts.model_types.includes(type),
  );

/** What is said before a training of a multimodal model. */
export const partAdvice = (kind: ModelKind, parts: Parts): string[] =>
  hasMoreThanText(kind, parts) ? ['The text part of this model is trained; images and sound are not.'] : [];

/** Why a model cannot be trained for any task; `null` if it can, or if nothing is known of it. */
export function whyUntrainable(
  kind: ModelKind,
  description: Pick<Description, 'combinations' | 'text_parts'>,
): string | null {
  const reasons = description.combinations.map(({ task, strategy }) =>
    whyNotPair(kind, task, strategy, description),
  );
  return reasons.includes(null) ? null : (reasons[0] ?? null);
}

/**
 * Why the trainer would reject a model for a task and strategy, from its own tables (`family` in trainer/model/check.py);
 * `null` if it would not, or if nothing is known of the model.
 */
export function whyNotPair(
  kind: ModelKind,
  task: string,
  strategy: string,
  description: Pick<Description, 'combinations' | 'text_parts'>,
): string | null {
  const { architecture, modelType, isEncoderDecoder } = kind;
  if (architecture === null || (!isEncoderDecoder && continues.test(architecture))) return null;
  if (hasTextPart(kind, description)) return null;
  const types = description.combinations
    .filter((entry) => entry.task === task && entry.strategy === strategy)
    .flatMap((entry) => entry.model_types);
  if (modelType !== null && types.includes(modelType)) return null;
  const others =
    types.length === 0 ? '' : `, or one of these types: ${[...new Set(types)].sort().join(', ')}`;
  const why = hasMoreThanText(kind, description)
    ? ': transformers has no language model for its text part'
    : '';
  return `${architecture} cannot be trained for ${task} with the strategy ${strategy}${why}. Choose a text generation model (…ForCausalLM)${others}`;
}

/** Shapes of rows that only a decoder can be trained on. */
const ofDecoders: readonly RowShape[] = ['messages', 'text'];

/** Why a model cannot be trained on rows of a shape, as far as known before loading it; `null` if it can. */
export function whyNotShape(kind: ModelKind, shape: RowShape): string | null {
  if (!ofDecoders.includes(shape) || isDecoder(kind)) return null;
  const why =
    shape === 'messages'
      ? 'reads one input and writes one output, so a conversation of several turns has no place in it'
      : 'reads one input and writes one output, so it cannot be trained to continue text';
  return `${kind.architecture} ${why}. Choose a text generation model (…ForCausalLM), or a dataset with the fields ${rowShapes['input-output'].join(', ')}`;
}
