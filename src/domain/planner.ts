import type { HubAccess } from '../hub/access.ts';
import { readModelInfo } from '../hub/model-info.ts';
import { locateModel } from './base-model.ts';
import type { Datasets } from './datasets.ts';
import { type Estimate, estimate, exampleGuidance, type Precision, simpleEstimate } from './estimate.ts';
import type { Machine } from './machine.ts';
import { type ModelShape, readModelShape } from './model-shape.ts';
import catalogue from './recommended-models.json' with { type: 'json' };
import { resolveSettings, type SettingsContext } from './settings.ts';
import type { TrainingRequest } from './training-request.ts';

/** What a run would need, what is there, and what to change if it does not fit. */
export interface Plan {
  /** `null` where the model's size is not known before it is downloaded. */
  readonly parameters: number | null;
  readonly simpleGb: Record<Precision, number> | null;
  /** `null` where only the size is known, not the shape. */
  readonly fine: Estimate | null;
  readonly precision: Precision;
  readonly available: {
    readonly memoryBytes: number;
    readonly memoryOf: 'gpu' | 'ram';
    readonly diskBytes: number | null;
  };
  readonly fits: boolean | null;
  readonly advice: readonly string[];
}

/** Judges a training request before it is started; nothing is changed. */
export interface Planner {
  plan(request: TrainingRequest): Promise<Plan>;
}

const bytesPerGb = 2 ** 30;

export function createPlanner(options: {
  machine: () => Promise<Machine>;
  settingsContext: (profile?: TrainingRequest['compute_specs']) => Promise<SettingsContext>;
  datasets: Datasets;
  hub: HubAccess;
}): Planner {
  async function sizeOf(
    request: TrainingRequest,
  ): Promise<{ parameters: number | null; shape: ModelShape | null; local: boolean }> {
    const { path, name } = locateModel(request.model_name);
    if (path !== null) {
      const shape = await readModelShape(path).catch(() => null);
      return { parameters: shape?.parameters ?? null, shape, local: true };
    }
    const known = (catalogue.models as Record<string, { billionParameters: number }>)[name];
    if (known !== undefined)
      return { parameters: Math.round(known.billionParameters * 1e9), shape: null, local: false };
    const info = await readModelInfo(options.hub, name).catch(() => null);
    return { parameters: info?.parameters ?? null, shape: null, local: false };
  }

  return {
    async plan(request) {
      const [here, context] = await Promise.all([
        options.machine(),
        options.settingsContext(request.compute_specs),
      ]);
      const settings = resolveSettings(request, 'standard', context);
      const { parameters, shape, local } = await sizeOf(request);
      const gpu = context.cuda && settings.device !== 'cpu';
      const precision: Precision = settings.use_4bit
        ? '4-bit'
        : settings.use_8bit
          ? '8-bit'
          : gpu || settings.bf16 || settings.fp16
            ? '16-bit'
            : '32-bit';
      const fine =
        shape === null
          ? null
          : estimate(shape, {
              precision,
              batchSize: settings.per_device_train_batch_size as number,
              sequenceLength: settings.max_seq_length === -1 ? 1024 : (settings.max_seq_length as number),
              loraRank: settings.lora_r as number,
              gradientCheckpointing: (settings.gradient_checkpointing as boolean | null) ?? gpu,
              checkpointsKept: settings.save_total_limit as number,
              quantizations: request.export === 'none' ? [] : (request.export?.quantizations ?? ['Q8_0']),
              download: !local,
              gpu,
            });
      const simpleGb = parameters === null ? null : simpleEstimate(parameters);
      const available = {
        memoryBytes: gpu ? here.facts.gpuTotalBytes : here.facts.ramAvailableBytes,
        memoryOf: gpu ? ('gpu' as const) : ('ram' as const),
        diskBytes: here.facts.diskFreeBytes,
      };
      const neededBytes = fine?.totalBytes ?? (simpleGb === null ? null : simpleGb[precision] * bytesPerGb);
      const fits =
        neededBytes === null
          ? null
          : neededBytes <= available.memoryBytes &&
            (fine === null || available.diskBytes === null || fine.disk.totalBytes <= available.diskBytes);
      return {
        parameters,
        simpleGb,
        fine,
        precision,
        available,
        fits,
        advice: [
          ...adviceOn(settings, fits, gpu, fine, available),
          ...(await rowsAdvice(request, parameters)),
        ],
      };
    },
  };

  async function rowsAdvice(request: TrainingRequest, parameters: number | null): Promise<string[]> {
    if (parameters === null) return [];
    const dataset = options.datasets.list().find(({ name }) => name === request.dataset);
    if (dataset === undefined) return [];
    const { minimum, recommended } = exampleGuidance(parameters);
    if (dataset.numExamples >= recommended) return [];
    return [
      `The dataset has ${dataset.numExamples} examples; for a model of this size ${recommended} are recommended${dataset.numExamples < minimum ? `, and at least ${minimum}` : ''}.`,
    ];
  }
}

function adviceOn(
  settings: Readonly<Record<string, unknown>>,
  fits: boolean | null,
  gpu: boolean,
  fine: Estimate | null,
  available: Plan['available'],
): string[] {
  if (fits !== false) return [];
  const advice: string[] = [];
  if (fine !== null && available.diskBytes !== null && fine.disk.totalBytes > available.diskBytes) {
    advice.push(
      `Free ${Math.ceil((fine.disk.totalBytes - available.diskBytes) / 1e9)} GB of disk, or set "export" to fewer types.`,
    );
  }
  if (gpu && !settings.use_4bit) advice.push('Set use_4bit to true (strategy qlora).');
  const batch = settings.per_device_train_batch_size as number;
  if (batch > 1) {
    const steps = (settings.gradient_accumulation_steps as number) * batch;
    advice.push(
      `Set per_device_train_batch_size to 1 and gradient_accumulation_steps to ${steps}: the same rows per step.`,
    );
  }
  const length = settings.max_seq_length as number;
  if (length > 256) advice.push(`Set max_seq_length to ${Math.max(256, length / 2)}.`);
  if (!settings.gradient_checkpointing) advice.push('Set gradient_checkpointing to true.');
  advice.push('Choose a smaller model.');
  return advice.slice(0, 4);
}
