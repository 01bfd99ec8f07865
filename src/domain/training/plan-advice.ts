import type { Settings } from '../../contract/settings.ts';
import type { Shortage } from './disk-budget.ts';
import { noGgufWarning } from './judge-request.ts';
import type { TrainingRequest } from './training-request.ts';

/** The maximum number of hints; a longer list would not be read. */
const mostAdvice = 4;

/** Advice when it is known before the download that no GGUF can be made. */
export function exportAdvice(request: TrainingRequest, whyNone: string | null): string[] {
  if (whyNone === null || request.export === 'none') return [];
  return request.export == null
    ? [noGgufWarning(whyNone)]
    : [`There can be no GGUF file: ${whyNone}. Leave "export" out, or choose another model.`];
}

/** How to change a run that does not fit. */
export function fitAdvice(settings: Settings, gpu: boolean, shortage: Shortage | null): string[] {
  const advice: string[] = [];
  if (shortage !== null) {
    const missing = Math.ceil((shortage.neededBytes - shortage.freeBytes) / 1e9);
    advice.push(`Free ${missing} GB of disk in ${shortage.where}, or set "export" to fewer types.`);
  }
  if (gpu && !settings.use_4bit) advice.push('Set use_4bit to true (strategy qlora).');
  const batch = settings.per_device_train_batch_size;
  if (batch > 1) {
    const steps = settings.gradient_accumulation_steps * batch;
    advice.push(
      `Set per_device_train_batch_size to 1 and gradient_accumulation_steps to ${steps}: the same rows per step.`,
    );
  }
  const length = settings.max_seq_length;
  if (length > 256) advice.push(`Set max_seq_length to ${Math.max(256, length / 2)}.`);
  if (!settings.gradient_checkpointing) advice.push('Set gradient_checkpointing to true.');
  advice.push('Choose a smaller model.');
  return advice.slice(0, mostAdvice);
}
