import type { Settings } from '../../../contract/settings.ts';
import { comparesAnswers, shareOfStep } from '../../../contract/training/steps.ts';
import type { ModelSize } from '../../base-models/model-size.ts';
import type { JudgedChoices } from '../judge-choices.ts';
import { runsOnCuda } from '../settings.ts';
import type { DiskNeed } from './disk-need.ts';
import { type Estimate, estimate, type Precision, simpleEstimate } from './estimate.ts';

/** What a run needs, as precisely as the model's size is known. */
export interface RunNeed {
  /** Whether it runs on a GPU. */
  readonly gpu: boolean;
  readonly precision: Precision;
  /** `null` if only the model's size is known, not its shape. */
  readonly fine: Estimate | null;
  readonly simpleGb: Record<Precision, number> | null;
  /** Memory, by the more precise of the two estimates. */
  readonly bytes: number | null;
}

const bytesPerGb = 2 ** 30;

/** The longest sequence that is reckoned with, in tokens, where no limit is set as well. */
export const lengthOf = ({ max_seq_length: length }: Settings): number => (length === -1 ? 1024 : length);

export function runNeed(
  { parameters, shape, local, kind }: ModelSize,
  { strategy, provider, settings, context }: JudgedChoices,
  disk: DiskNeed,
): RunNeed {
  const { bfloat16FromWidth } = context;
  const gpu = runsOnCuda(settings, context);
  const wide = bfloat16FromWidth !== null && (shape?.hidden ?? 0) >= bfloat16FromWidth;
  // Every worker has its own copy: on a GPU of its own, on a machine of a cluster, or in the one memory.
  const copies = gpu || context.cluster ? 1 : settings.workers;
  const stored = kind.bits === null ? null : (`${kind.bits}-bit` as const);
  const trainsAll = settings.adapter === 'full';
  const stateBytes = context.optimizerStateBytes[settings.optim] ?? 0;
  const { modules_to_save: saved, new_tokens: added } = settings;
  const precision =
    trainsAll || saved !== null ? '32-bit' : (stored ?? precisionOf(settings, strategy, gpu || wide));
  const fine =
    shape === null
      ? null
      : estimate(shape, {
          precision,
          batchSize: shareOfStep(settings, settings.workers)?.size ?? settings.per_device_train_batch_size,
          sequenceLength: lengthOf(settings),
          sequencesPerRow: strategy === 'dpo' ? 2 : 1,
          loraRank: settings.lora_r,
          targetExperts: settings.target_experts,
          // Both layers have rows for a new token.
          trainedRows: trainsAll ? 0 : (saved?.length ?? 0) * shape.vocabulary + 2 * (added?.length ?? 0),
          trainsAll,
          stateBytes,
          gradientCheckpointing: settings.gradient_checkpointing ?? gpu,
          paddingFree:
            provider === 'standard' &&
            // A GPU computes all logits of an output layer that is trained.
            !(trainsAll && gpu) &&
            (['sft', 'qlora', 'distill'].includes(strategy) || comparesAnswers(strategy)) &&
            (kind.architecture ?? 'ForCausalLM').endsWith('ForCausalLM'),
          writtenRows: comparesAnswers(strategy)
            ? settings.per_device_train_batch_size * settings.gradient_accumulation_steps
            : 0,
          models: strategy === 'rlhf' ? 2 : 1,
          disk,
          download: !local,
          gpu,
          copies,
        });
  const simpleGb = parameters === null ? null : simpleEstimate(parameters);
  // Beside each weight of 4 bytes, a gradient of as many, and the optimizer's state.
  const times = trainsAll ? (8 + stateBytes) / 4 : 1;
  const bytes =
    fine?.totalBytes ?? (simpleGb === null ? null : copies * times * simpleGb[precision] * bytesPerGb);
  return { gpu, precision, fine, simpleGb, bytes };
}

/** The precision of the frozen weights; `half` is the trainer's choice if no setting determines it. */
function precisionOf(settings: Settings, strategy: string, half: boolean): Precision {
  if (settings.use_4bit || strategy === 'qlora') return '4-bit';
  if (settings.use_8bit) return '8-bit';
  return (settings.bf16 ?? half) || settings.fp16 ? '16-bit' : '32-bit';
}
