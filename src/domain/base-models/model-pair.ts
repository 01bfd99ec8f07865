import { refusalOf } from '../../faults.ts';
import type { Description } from '../../trainer/protocol.ts';
import { readModelJson } from './model-file.ts';

/** The class suffix of text generation models in transformers. */
const continues = /(?:ForCausalLM|LMHeadModel)$/;

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
