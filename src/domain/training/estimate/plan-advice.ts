import type { Settings } from '../../../contract/settings.ts';
import type { JudgedChoices } from '../judge-choices.ts';
import { noGgufWarning } from '../judge-request.ts';
import type { TrainingRequest } from '../training-request.ts';
import type { Shortage } from './disk-budget.ts';
import { lengthOf } from './run-need.ts';

/** The maximum number of hints; a longer list would not be read. */
const mostAdvice = 4;

/** Advice when it is known before the download that no GGUF can be made. */
export function exportAdvice(request: TrainingRequest, whyNone: string | null): string[] {
  if (whyNone === null || request.export === 'none') return [];
  return request.export == null
    ? [noGgufWarning(whyNone)]
    : [`There can be no GGUF file: ${whyNone}. Leave "export" out, or choose another model.`];
}

/** What a setting must save of a run's memory to be worth a hint. */
const leastShare = 0.02;

/**
 * How to change a run that does not fit.
 * @param bytesWith the memory that the run needs with other settings, `null` if that is unknown; itself `null` if there is
 * enough memory. What saves most is first, and what saves nothing is left out.
 */
export function fitAdvice(
  choices: Pick<JudgedChoices, 'settings' | 'context'>,
  shortage: Shortage | null,
  bytesWith: ((changes: Partial<Settings>) => number | null) | null,
): string[] {
  const advice: string[] = [];
  if (shortage !== null) {
    const missing = Math.ceil((shortage.neededBytes - shortage.freeBytes) / 1e9);
    advice.push(`Free ${missing} GB of disk in ${shortage.where}, or set "export" to fewer types.`);
  }
  if (bytesWith !== null) advice.push(...memoryAdvice(choices, bytesWith));
  advice.push('Choose a smaller model.');
  return advice.slice(0, mostAdvice);
}

function memoryAdvice(
  { settings, context }: Pick<JudgedChoices, 'settings' | 'context'>,
  bytesWith: (changes: Partial<Settings>) => number | null,
): string[] {
  const steps = settings.gradient_accumulation_steps * settings.per_device_train_batch_size;
  const shorter = Math.max(256, Math.floor(lengthOf(settings) / 2));
  const ways: readonly (readonly [Partial<Settings>, string])[] = [
    settings.adapter === 'full'
      ? [{ adapter: 'lora' }, 'Set adapter to lora.']
      : [{ use_4bit: context.quantizes }, 'Set use_4bit to true (strategy qlora).'],
    [
      { per_device_train_batch_size: 1, gradient_accumulation_steps: steps },
      `Set per_device_train_batch_size to 1 and gradient_accumulation_steps to ${steps}: the same rows per step.`,
    ],
    [{ max_seq_length: shorter }, `Set max_seq_length to ${shorter}.`],
    [{ gradient_checkpointing: true }, 'Set gradient_checkpointing to true.'],
  ];
  const needed = bytesWith({});
  const isChange = ([changes]: (typeof ways)[number]) =>
    Object.entries(changes).some(([name, value]) => settings[name as keyof Settings] !== value);
  return ways
    .filter(isChange)
    .map(([changes, text]) => ({ text, saved: needed === null ? null : needed - (bytesWith(changes) ?? 0) }))
    .filter(({ saved }) => saved === null || saved >= leastShare * (needed ?? 0))
    .sort((one, other) => (other.saved ?? 0) - (one.saved ?? 0))
    .map(({ text }) => text);
}
