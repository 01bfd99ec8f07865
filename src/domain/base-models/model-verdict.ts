import { whyNoGgufWasMade } from '../../contract/models/architectures.ts';
import type { Description } from '../../trainer/protocol.ts';
import { tokenizerRefusal } from './files/tokenizer-files.ts';
import { type ModelKind, ofName } from './gguf/gguf-verdict.ts';
import { continues, hasTextPart, partAdvice, whyNotPair, whyUntrainable } from './model-pair.ts';
import type { ModelSize } from './model-size.ts';
import { codeRefusal } from './own-code.ts';

type Facts = Pick<ModelSize, 'kind' | 'withCode' | 'withoutTokenizer' | 'whyNoWeights' | 'hasAdapterBeside'>;

/**
 * Why a base model cannot be trained for any task, as far as known before its download: what `check`, an estimate and a
 * start say of it. Empty if it can, or if nothing is known of it. The trainer decides (trainer/model/check.py).
 */
export function whyUnusable(model: string, facts: Facts, description: Description): string[] {
  const found = whyNotLoaded(model, facts, description);
  if (found.length > 0) return found;
  const why = whyUntrainable(facts.kind, description);
  return why === null ? [] : [why];
}

/** Why a model cannot be loaded, whatever it is for. */
export function whyNotLoaded(model: string, facts: Facts, description: Description): string[] {
  return [
    facts.withoutTokenizer ? tokenizerRefusal(model) : null,
    whyNeedsCode(model, facts, description),
    facts.whyNoWeights,
    whyUnknown(model, facts.kind, description),
  ].filter((reason) => reason !== null);
}

/** What is to be known before a base model is trained. */
export function modelNotes({ kind, hasAdapterBeside }: Facts, description: Description): string[] {
  const stored = ofName(description.quantizations, kind.quantization);
  return [
    ...partAdvice(kind, description),
    ...taskAdvice(kind, description),
    ...triedAdvice(kind),
    ...(stored?.dequantized
      ? [
          `The weights are stored quantized (${kind.quantization}) and become 16- or 32-bit weights for the training, which takes 2 or 4 bytes for each.`,
        ]
      : []),
    ...(hasAdapterBeside
      ? [
          'An adapter lies beside the weights (adapter_config.json). It is not used: the training starts from the weights alone. With merge_adapter, it is merged into them first.',
        ]
      : []),
  ];
}

/** What the table of architectures says of a model (docs/architectures.md). */
function triedAdvice({ converted }: ModelKind): string[] {
  const why = converted === null ? null : whyNoGgufWasMade(converted);
  if (why === null) return [];
  return [
    `Of a small model of this architecture no GGUF file could be made: ${why} The export is tried before the training; without it, the model answers through transformers.`,
  ];
}

/** What is said of a model that not every task can be trained with. */
function taskAdvice(kind: ModelKind, description: Description): string[] {
  const { tasks, combinations } = description;
  const possible = tasks.filter(({ name }) =>
    combinations.some(
      ({ task, strategy }) => task === name && whyNotPair(kind, task, strategy, description) === null,
    ),
  );
  if (possible.length === tasks.length) return [];
  return [`This model can be trained for ${possible.map(({ name }) => name).join(' and ')} only.`];
}

/** The class that the installed transformers has for a causal language model; `undefined` if it has none. */
const classOf = ({ modelType }: ModelKind, { causal_classes: classes }: Description): string | undefined =>
  modelType === null ? undefined : classes[modelType];

/** Many models name code that transformers has had since: `auto_map` alone means nothing. */
function whyNeedsCode(model: string, { kind, withCode }: Facts, description: Description): string | null {
  const known = classOf(kind, description)?.toLowerCase() === kind.architecture?.toLowerCase();
  const needed = withCode.filter(
    (file) => file !== 'config.json' || !(known || hasTextPart(kind, description)),
  );
  return needed.length === 0 ? null : codeRefusal(model, needed);
}

function whyUnknown(model: string, kind: ModelKind, description: Description): string | null {
  const { architecture, modelType, isEncoderDecoder, quantization, codes } = kind;
  const decodes = architecture !== null && !isEncoderDecoder && continues.test(architecture);
  if (decodes && !hasTextPart(kind, description) && classOf(kind, description) === undefined)
    return `transformers as it is installed has no language model of the type ${modelType} (${architecture}). Choose another model; one that is newer than Hone may be supported by a later version`;
  if (quantization === null) return null;
  const stored = ofName(description.quantizations, quantization);
  const read = stored?.forms ?? null;
  const unknown = read === null ? [] : (codes?.forms ?? []).filter((form) => !read.includes(form));
  const reason =
    stored === undefined
      ? `its weights are stored quantized (${quantization}), in a form that is for answering only`
      : unknown.length > 0
        ? `its weights are stored quantized (${quantization}) in the form ${unknown.join(', ')}; Hone reads ${read?.join(', ')}`
        : stored.reason;
  return reason === null
    ? null
    : `${model} cannot be trained here: ${reason}. Choose the 16-bit version of the model, from which it was made`;
}

/** Why all weights of a model cannot be trained (`adapter: full`); `null` if they can. */
export const whyNotWhole = ({ quantization }: ModelKind): string | null =>
  quantization === null
    ? null
    : `The weights of this model are stored quantized (${quantization}), in which they cannot be trained themselves. Set adapter to lora, or choose the 16-bit version of the model`;

/** Why a setting that quantizes the weights cannot be used with weights that are stored quantized; `null` if it can. */
export function whyTwiceQuantized(
  { quantization, bits }: ModelKind,
  setting: 'use_4bit' | 'use_8bit',
): string | null {
  if (quantization === null || (quantization === 'bitsandbytes' && bits === (setting === 'use_4bit' ? 4 : 8)))
    return null;
  return `${setting} would quantize weights a second time: they are stored quantized (${quantization}). Leave it out, or choose the 16-bit version of the model`;
}
