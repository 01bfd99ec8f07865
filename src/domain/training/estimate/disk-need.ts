import { type Quantization, quantizations } from '../../../contract/models/quantizations.ts';
import type { Settings } from '../../../contract/settings.ts';
import { type StepSettings, totalSteps } from '../../../contract/training/steps.ts';
import { teacherBytes } from '../teaching/teacher-bytes.ts';

/** The settings that affect disk usage. */
export type DiskSettings = StepSettings &
  Pick<Settings, 'optim' | 'save_steps' | 'save_total_limit' | 'keep_best' | 'adapter' | 'teacher_top_k'>;

/**
 * What a run writes, per weight of its base model and per trained weight; the service estimates these numbers, and the
 * trainer counts them. It is defined only here: the estimate and the check before a start use it, and the trainer
 * receives it in the specification.
 */
export interface DiskNeed {
  readonly checkpointsBytes: number;
  readonly checkpointsPerTrainedWeight: number;
  readonly exportPerWeight: number;
  readonly exportPerTrainedWeight: number;
  /** What a teacher's answers take, 0 without one. */
  readonly teacherBytes: number;
  /** Kept free for the journal, the log and TensorBoard files. */
  readonly spareBytes: number;
}

/** Trained weights are stored as float32. */
const trainedBytes = 4;
/** The parts of a checkpoint other than weights and optimizer state: random states, scheduler and so on. */
const checkpointRestBytes = 2 ** 16;
const spareBytes = 2 ** 26;

/** The most checkpoints on disk at a time: those kept, the best one, and the one being written. */
function checkpointsAtOnce(settings: DiskSettings, steps: number | null): number {
  const { save_steps, save_total_limit } = settings;
  // Without save_steps, checkpoints are saved by time, so their number is unknown.
  const made = save_steps === null || steps === null ? save_total_limit : Math.floor(steps / save_steps) + 1;
  return Math.min(made, save_total_limit) + (settings.keep_best ? 1 : 0) + 1;
}

/**
 * @param stateBytes optimizer state per trained weight.
 * @param run the strategy, the number of rows in the dataset and its bytes if known, and the tokens of the model if known.
 * @param made the GGUF types to make.
 */
export function diskNeed(
  settings: DiskSettings,
  stateBytes: number,
  run: {
    readonly strategy: string;
    readonly rows: number | null;
    readonly bytes?: number | null;
    readonly vocabulary?: number | null;
  },
  made: readonly Quantization[],
): DiskNeed {
  const steps = run.rows === null ? null : totalSteps(settings, run.strategy, run.rows);
  const checkpoints = checkpointsAtOnce(settings, steps);
  return {
    checkpointsBytes: checkpoints * checkpointRestBytes,
    checkpointsPerTrainedWeight: checkpoints * (trainedBytes + stateBytes),
    teacherBytes:
      run.strategy === 'distill' && run.bytes != null
        ? teacherBytes(settings, run.bytes, run.vocabulary ?? null)
        : 0,
    ...exportNeed(made, settings.adapter === 'full'),
  };
}

/** What an export alone writes. @param made the GGUF types to make. @param isWhole whether all weights were trained. */
export function exportNeed(
  made: readonly Quantization[],
  isWhole = false,
): Pick<DiskNeed, 'exportPerWeight' | 'exportPerTrainedWeight' | 'spareBytes'> {
  const types = [...new Set(made)];
  const between =
    types.some((type) => !quantizations[type].direct) && !types.includes('F16')
      ? quantizations.F16.bytesPerWeight
      : 0;
  return {
    exportPerWeight: types.reduce((sum, type) => sum + quantizations[type].bytesPerWeight, between),
    // What was trained, and an adapter's GGUF version.
    exportPerTrainedWeight: types.length > 0 && !isWhole ? 2 * trainedBytes : trainedBytes,
    spareBytes,
  };
}

/** The size in bytes of each part. */
export interface DiskBytes {
  readonly downloadBytes: number;
  readonly checkpointsBytes: number;
  readonly exportBytes: number;
  readonly teacherBytes: number;
  readonly spareBytes: number;
  readonly totalBytes: number;
}

/** The bytes that a run writes for these numbers of weights; `downloadBytes` is for the base model. */
export function diskBytes(
  need: DiskNeed,
  weights: number,
  trained: number,
  downloadBytes: number,
): DiskBytes {
  const checkpointsBytes = need.checkpointsBytes + need.checkpointsPerTrainedWeight * trained;
  const { teacherBytes } = need;
  const exportBytes = need.exportPerWeight * weights + need.exportPerTrainedWeight * trained;
  return {
    downloadBytes,
    checkpointsBytes,
    exportBytes,
    teacherBytes,
    spareBytes: need.spareBytes,
    totalBytes: downloadBytes + checkpointsBytes + exportBytes + teacherBytes + need.spareBytes,
  };
}
