import { sharedCache } from '../hub/cached-model.ts';
import { type Catalog, defaultProvider, defaultStrategy } from './catalog.ts';
import type { Datasets } from './datasets.ts';
import { checkDisk } from './disk-budget.ts';
import { type Estimate, estimate, type Precision, simpleEstimate } from './estimate.ts';
import { sizeWarnings } from './example-guidance.ts';
import { exportTypes } from './job-spec.ts';
import type { Machine } from './machine.ts';
import { type ModelSize, reviewed } from './model-size.ts';
import type { Profile } from './profile.ts';
import type { Selection } from './selection.ts';
import { resolveSettings, type Settings, type SettingsContext } from './settings.ts';
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

/** A recommended model, with why and what a training of it takes. */
export interface RecommendedModel {
  readonly model: string;
  readonly why: string;
  readonly billionParameters: number;
  readonly licence: string;
  /** With the recommended settings, on this machine. */
  readonly memoryBytes: number;
}

/** Judges a training request before it is started; nothing is changed. */
export interface Planner {
  /** @throws AppError `invalid` as a start does for task, strategy, provider and settings. */
  plan(request: TrainingRequest): Promise<Plan>;
  /** @throws AppError `disk_full` where the whole run, export included, would not find room. */
  checkDisk(request: TrainingRequest): Promise<void>;
  /** What is to be said of a dataset's size for a model; of every size of models where none is named. */
  sizeWarnings(numExamples: number, modelName: string | null): Promise<string[]>;
  /** The models for a profile and task, best first. @throws AppError `not_found` for another task. */
  recommend(profile: Profile, task: string): Promise<RecommendedModel[]>;
}

const bytesPerGb = 2 ** 30;

export function createPlanner(options: {
  catalog: Catalog;
  machine: () => Promise<Machine>;
  settingsContext: (profile?: TrainingRequest['compute_specs']) => Promise<SettingsContext>;
  datasets: Datasets;
  selection: Selection;
  sizeOf: (reference: string) => Promise<ModelSize>;
  dataDir: string;
}): Planner {
  /** What a run with these settings needs, as finely as the model's size is known. */
  function need(
    { parameters, shape, local, architecture }: ModelSize,
    settings: Settings,
    { strategy, provider }: { strategy: string; provider: string },
    { cuda, bfloat16FromWidth }: SettingsContext,
    quantizations: readonly string[],
  ) {
    const gpu = cuda && settings.device !== 'cpu';
    const wide = bfloat16FromWidth !== null && (shape?.hidden ?? 0) >= bfloat16FromWidth;
    const precision = precisionOf(settings, strategy, gpu || wide);
    const fine =
      shape === null
        ? null
        : estimate(shape, {
            precision,
            batchSize: settings.per_device_train_batch_size as number,
            sequenceLength: settings.max_seq_length === -1 ? 1024 : (settings.max_seq_length as number),
            loraRank: settings.lora_r as number,
            gradientCheckpointing: (settings.gradient_checkpointing as boolean | null) ?? gpu,
            logitsInParts:
              provider === 'standard' &&
              (strategy === 'sft' || strategy === 'qlora') &&
              (architecture ?? 'ForCausalLM').endsWith('ForCausalLM'),
            checkpointsKept: settings.save_total_limit as number,
            quantizations,
            download: !local,
            gpu,
          });
    const simpleGb = parameters === null ? null : simpleEstimate(parameters);
    const bytes = fine?.totalBytes ?? (simpleGb === null ? null : simpleGb[precision] * bytesPerGb);
    return { gpu, precision, fine, simpleGb, bytes };
  }

  /** Judges a request as a start does, and finds what it needs. */
  async function assess(request: TrainingRequest) {
    const strategy = request.strategy ?? defaultStrategy;
    const provider = await options.catalog.checkCombination(
      request.task,
      strategy,
      request.provider ?? defaultProvider,
    );
    const context = await options.settingsContext(request.compute_specs);
    const settings = resolveSettings(request, provider, context);
    const size = await options.sizeOf(request.model_name);
    return { settings, size, ...need(size, settings, { strategy, provider }, context, exportTypes(request)) };
  }

  return {
    async plan(request) {
      const [here, description] = await Promise.all([options.machine(), options.catalog.get()]);
      const { settings, size, gpu, precision, fine, simpleGb, bytes } = await assess(request);
      const available = {
        memoryBytes: gpu
          ? (here.facts.gpus[0]?.freeBytes ?? here.facts.gpuTotalBytes)
          : here.facts.ramAvailableBytes,
        memoryOf: gpu ? ('gpu' as const) : ('ram' as const),
        diskBytes: here.facts.diskFreeBytes,
      };
      const fits =
        bytes === null
          ? null
          : bytes <= available.memoryBytes &&
            (fine === null || available.diskBytes === null || fine.disk.totalBytes <= available.diskBytes);
      return {
        parameters: size.parameters,
        simpleGb,
        fine,
        precision,
        available,
        fits,
        advice: [
          ...exportAdvice(request, size.architecture, description.export_architectures),
          ...adviceOn(settings, fits, gpu, fine, available),
          ...rowsAdvice(request, size.parameters),
        ],
      };
    },

    async checkDisk(request) {
      const { fine } = await assess(request);
      if (fine !== null) await checkDisk(fine.disk, options.dataDir, sharedCache());
    },

    async sizeWarnings(numExamples, modelName) {
      if (modelName === null) return sizeWarnings(numExamples, null);
      const { parameters } = await options.sizeOf(modelName);
      return parameters === null ? [] : sizeWarnings(numExamples, parameters);
    },

    async recommend(profile, task) {
      const context = await options.settingsContext(profile);
      const { possible } = options.selection.recommend(profile, task);
      return Promise.all(
        possible.map(async (model) => {
          const { billionParameters, licence, why } = reviewed(model) as NonNullable<
            ReturnType<typeof reviewed>
          >;
          const request = { task, model_name: model, dataset: '' };
          const settings = resolveSettings(request, defaultProvider, context);
          const size = await options.sizeOf(model);
          const way = { strategy: defaultStrategy, provider: defaultProvider };
          const { bytes } = need(size, settings, way, context, []);
          return { model, why, billionParameters, licence, memoryBytes: Math.round(bytes ?? 0) };
        }),
      );
    },
  };

  function rowsAdvice(request: TrainingRequest, parameters: number | null): string[] {
    const dataset = options.datasets.list().find(({ name }) => name === request.dataset);
    return dataset === undefined || parameters === null ? [] : sizeWarnings(dataset.numExamples, parameters);
  }
}

/** That there would be no GGUF, where this is known before the model is downloaded. */
function exportAdvice(
  request: TrainingRequest,
  architecture: string | null,
  exportable: readonly string[],
): string[] {
  const fine =
    request.export === 'none' ||
    architecture === null ||
    exportable.length === 0 ||
    exportable.includes(architecture);
  return fine
    ? []
    : [
        `llama.cpp cannot run the architecture ${architecture}, so there would be no GGUF file. Set "export" to "none", or choose another model.`,
      ];
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

/** In which precision the frozen weights are held; `half` tells what the trainer chooses where nothing is set. */
function precisionOf(settings: Settings, strategy: string, half: boolean): Precision {
  if (settings.use_4bit || strategy === 'qlora') return '4-bit';
  if (settings.use_8bit) return '8-bit';
  return (settings.bf16 ?? half) || settings.fp16 ? '16-bit' : '32-bit';
}
