import { type RowShape, rowShapes } from '../../contract/rows.ts';
import { refusalOf } from '../../faults.ts';
import type { Description } from '../../trainer/protocol.ts';
import type { ModelKind } from './gguf-verdict.ts';
import { readModelJson } from './model-file.ts';

/** The class suffix of text generation models in transformers. */
const continues = /(?:ForCausalLM|LMHeadModel)$/;

/** Whether a model is a text generation model (a decoder); an unknown one counts as one. */
export const isDecoder = ({ architecture }: ModelKind): boolean =>
  architecture === null || continues.test(architecture);

/**
 * Checks a local model against the task and strategy, using the trainer's table.
 * @throws AppError `invalid` if the trainer would reject the model.
 */
export async function checkPair(
  path: string,
  task: string,
  strategy: string,
  { combinations }: Pick<Description, 'combinations'>,
): Promise<void> {
  const config = (await readModelJson(path, 'config.json')) as {
    architectures?: unknown;
    model_type?: unknown;
    is_encoder_decoder?: unknown;
  };
  const architecture = Array.isArray(config.architectures) ? String(config.architectures[0] ?? '') : '';
  if (!config.is_encoder_decoder && continues.test(architecture)) return;
  const types = combinations
    .filter((entry) => entry.task === task && entry.strategy === strategy)
    .flatMap((entry) => entry.model_types);
  if (types.includes(String(config.model_type))) return;
  const others =
    types.length === 0 ? '' : `, or one of these types: ${[...new Set(types)].sort().join(', ')}`;
  const msg = `${architecture} cannot be trained for ${task} with the strategy ${strategy}. Choose a text generation model (…ForCausalLM)${others}`;
  throw refusalOf('model_name', msg);
}

/** Shapes of rows that only a decoder can be trained on. */
const ofDecoders: readonly RowShape[] = ['messages', 'text'];

/** Why a model cannot be trained on rows of a shape, as far as known before loading it; `null` if it can. */
export function whyNotShape({ architecture }: ModelKind, shape: RowShape): string | null {
  if (!ofDecoders.includes(shape) || architecture === null || continues.test(architecture)) return null;
  const why =
    shape === 'messages'
      ? 'reads one input and writes one output, so a conversation of several turns has no place in it'
      : 'reads one input and writes one output, so it cannot be trained to continue text';
  return `${architecture} ${why}. Choose a text generation model (…ForCausalLM), or a dataset with the fields ${rowShapes['input-output'].join(', ')}`;
}
