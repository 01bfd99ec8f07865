import type { Profile } from '../../../contract/profiles.ts';
import type { Settings } from '../../../contract/settings.ts';
import { heldOutRows, mayBecomeSeveral, totalSteps } from '../../../contract/training/steps.ts';
import { sharedCache } from '../../../hub/cached-model.ts';
import { locateBase } from '../../base-models/adapter-base.ts';
import { checkBase } from '../../base-models/base-model.ts';
import { whyNoGguf } from '../../base-models/gguf/gguf-verdict.ts';
import { whyNotPair } from '../../base-models/model-pair.ts';
import { type ModelSize, reviewed } from '../../base-models/model-size.ts';
import { modelNotes, whyUnusable } from '../../base-models/model-verdict.ts';
import type { Selection } from '../../base-models/selection.ts';
import { sizeWarnings } from '../../datasets/size-guidance.ts';
import { makeRoom, reclaimableBytes } from '../../machine/disk-room.ts';
import type { Machine } from '../../machine/machine.ts';
import { defaultProvider, defaultStrategy } from '../../machine/trainer-registry.ts';
import { goingOnSentence, goOn } from '../going-on.ts';
import { checkChoices, type JudgedChoices } from '../judge-choices.ts';
import { exportTypes, type JudgedRequest, type Judges } from '../judge-request.ts';
import { type SettingsContext, settingsOf } from '../settings.ts';
import type { TrainingRequest } from '../training-request.ts';
import { diskFull, findShortage, type Shortage } from './disk-budget.ts';
import { diskNeed } from './disk-need.ts';
import type { Estimate, Precision } from './estimate.ts';
import { type OtherRun, type Reserved, reservedAdvice, stillTakes } from './other-runs.ts';
import { exportAdvice, fitAdvice } from './plan-advice.ts';
import { type RunNeed, runNeed } from './run-need.ts';
import { estimateTime, type TimedRun, type TimeEstimate } from './time-estimate.ts';

/** What a run needs, what is available, and how to make it fit. */
export interface Plan {
  /** `null` if the model's size is unknown before the download. */
  readonly parameters: number | null;
  readonly simpleGb: Record<Precision, number> | null;
  /** `null` if only the model's size is known, not its shape. */
  readonly fine: Estimate | null;
  readonly precision: Precision;
  readonly available: {
    readonly memoryBytes: number;
    readonly memoryOf: 'gpu' | 'ram';
    readonly diskBytes: number | null;
    /** What runs that are going will still take, which is not in the two numbers. */
    readonly reserved: readonly Reserved[];
  };
  /**
   * How the run uses the dataset's rows; `null` if the dataset does not exist yet. `isLeast`: a row may become several
   * sequences, which is known once the rows are tokenized.
   */
  readonly steps: { readonly heldOutRows: number; readonly total: number; readonly isLeast: boolean } | null;
  /** `null` if the model was not trained here before, or the dataset does not exist yet. */
  readonly time: TimeEstimate | null;
  readonly fits: boolean | null;
  readonly advice: readonly string[];
  /** The request with every default. */
  readonly request: Partial<TrainingRequest>;
}

/** A recommended model, with the reason and its training requirements. */
export interface RecommendedModel {
  readonly model: string;
  readonly why: string;
  readonly billionParameters: number;
  readonly licence: string;
  /** With the recommended settings, on this machine. */
  readonly memoryBytes: number;
}

/** Validates and estimates a training before it is started; nothing is changed. */
export interface Planner {
  /** @throws AppError `invalid` as a start does for task, strategy, provider and settings. */
  plan(request: TrainingRequest): Promise<Plan>;
  /** @throws AppError `disk_full` if the run, including its export, does not fit on the disk. */
  checkDisk(judged: JudgedRequest): Promise<void>;
  /** Guidance on a dataset's size for a model, or for all model sizes if none is named. */
  sizeWarnings(numExamples: number, modelName: string | null): Promise<string[]>;
  /** What a training of a base model takes with the recommended settings, and whether this machine has as much memory. */
  memoryOf(
    model: string,
    size: ModelSize,
  ): Promise<{ readonly bytes: number | null; readonly fits: boolean | null }>;
  /** The recommended models for a profile and task, best first. @throws AppError `not_found` for an unknown task. */
  recommend(profile: Profile, task: string): Promise<RecommendedModel[]>;
}

const diskOf = (reserved: readonly Reserved[]) => reserved.reduce((sum, { diskBytes }) => sum + diskBytes, 0);

/** What a run with the recommended settings needs, whatever its rows. */
function usualNeed(model: string, size: ModelSize, task: string, context: SettingsContext): RunNeed {
  const settings = settingsOf({ task, model_name: model }, context);
  const choices = { task, strategy: defaultStrategy, provider: defaultProvider, settings, context };
  return runNeed(size, choices, diskNeed(settings, 0, { strategy: defaultStrategy, rows: null }, []));
}

/** A request with every default. @param whyNone why there can be no GGUF file. */
function wholeRequest(
  request: TrainingRequest,
  { strategy, provider, settings }: JudgedChoices,
  whyNone: string | null,
): Partial<TrainingRequest> {
  const made = exportTypes(request, whyNone);
  return {
    ...request,
    provider,
    strategy,
    ...settings,
    // They exclude each other.
    eval_split: request.validation_dataset == null ? settings.eval_split : undefined,
    export: made.length === 0 ? 'none' : { quantizations: [...made] },
  };
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: its methods share what was measured of the model
export function createPlanner(
  options: Judges & {
    readonly machine: () => Promise<Machine>;
    readonly selection: Selection;
    readonly dataDir: string;
    /** What runs of a base model took on this machine, newest first. */
    readonly earlierRuns: (modelName: string) => readonly TimedRun[];
    /** The runs that are going. */
    readonly otherRuns: () => Promise<readonly OtherRun[]>;
  },
): Planner {
  /** The disk space that a run lacks, or `null` if it fits. @param reclaimable what can give way to it. */
  const shortageOf = async (
    { fine }: RunNeed,
    reserved: readonly Reserved[],
    reclaimable: number,
  ): Promise<Shortage | null> =>
    fine === null
      ? null
      : findShortage(fine.disk, options.dataDir, await sharedCache(), diskOf(reserved), reclaimable);

  /** What the runs that are going will still take. */
  const reservedBy = (others: readonly OtherRun[], context: SettingsContext): Promise<Reserved[]> =>
    Promise.all(
      others.map(async (other) => {
        // The folder of its model may be gone.
        const size = await options.sizeOf(other.modelName).catch(() => null);
        return size === null
          ? { name: other.name, memoryBytes: 0, diskBytes: 0 }
          : stillTakes(other, size, context);
      }),
    );

  return {
    async plan(asked) {
      const { fields: request, parent } = await goOn(asked, options.parents);
      const [here, description, choices, others] = await Promise.all([
        options.machine(),
        options.registry.get(),
        checkChoices(request, options),
        options.otherRuns(),
      ]);
      const { strategy, settings, context } = choices;
      const merges = request.merge_adapter ?? false;
      await checkBase(await locateBase(request.model_name, merges));
      const size = await options.sizeOf(request.model_name, merges);
      const whyNone = whyNoGguf(size.kind, description);
      const unusable = whyUnusable(request.model_name, size, description);
      const whyUnfit = whyNotPair(size.kind, request.task, strategy, description);
      const refusals = unusable.length > 0 || whyUnfit === null ? unusable : [whyUnfit];
      const dataset = options.datasets.find(request.dataset);
      const rows = dataset?.numExamples ?? null;
      const { validation_dataset: validation } = request;
      const disk = diskNeed(
        settings,
        context.optimizerStateBytes[settings.optim] ?? 0,
        {
          strategy,
          rows,
          bytes: dataset?.sizeBytes ?? null,
          vocabulary: size.shape?.vocabulary ?? null,
        },
        exportTypes(request, whyNone),
      );
      const need = runNeed(size, choices, disk);
      const { gpu, precision, fine, simpleGb, bytes } = need;
      const reserved = await reservedBy(others, context);
      const taken = new Set(others.flatMap(({ devices }) => devices));
      const { gpus, gpuTotalBytes, ramAvailableBytes, diskFreeBytes } = here.facts;
      const device =
        gpus.filter(({ lost }) => lost === null).find((_, index) => !taken.has(index)) ?? gpus[0];
      const reclaimable = reclaimableBytes(options.dataDir);
      const available = {
        memoryBytes: gpu
          ? (device?.freeBytes ?? gpuTotalBytes)
          : Math.max(
              0,
              reserved.reduce((left, { memoryBytes }) => left - memoryBytes, ramAvailableBytes),
            ),
        memoryOf: gpu ? ('gpu' as const) : ('ram' as const),
        diskBytes:
          diskFreeBytes === null ? null : Math.max(0, diskFreeBytes + reclaimable - diskOf(reserved)),
        reserved,
      };
      const steps =
        rows === null
          ? null
          : {
              heldOutRows:
                validation == null
                  ? heldOutRows(rows, settings.eval_split)
                  : (options.datasets.find(validation)?.numExamples ?? 0),
              total: totalSteps(settings, strategy, rows),
              isLeast: settings.max_steps <= 0 && mayBecomeSeveral(dataset?.validation.shape),
            };
      const shortage = await shortageOf(need, reserved, reclaimable);
      const lacksMemory = bytes !== null && bytes > available.memoryBytes;
      const fits = bytes === null ? null : !lacksMemory && shortage === null;
      const bytesWith = (changes: Partial<Settings>) =>
        runNeed(size, { ...choices, settings: { ...settings, ...changes } }, disk).fine?.totalBytes ?? null;
      return {
        parameters: size.parameters,
        simpleGb,
        fine,
        precision,
        available,
        steps,
        time:
          rows === null || steps === null
            ? null
            : estimateTime(options.earlierRuns(request.model_name), {
                strategy,
                settings,
                rows,
                dataset: request.dataset,
                heldOutRows: steps.heldOutRows,
                provider: choices.provider,
                steps: steps.total,
                quantizations: exportTypes(request, whyNone),
                parameters: size.parameters,
                bytesPerRow: (name) => {
                  const found = options.datasets.find(name);
                  return found === null ? null : found.sizeBytes / Math.max(1, found.numExamples);
                },
              }),
        fits,
        advice: [
          ...(parent === null ? [] : [goingOnSentence(parent)]),
          ...(refusals.length === 0
            ? [...modelNotes(size, description), ...exportAdvice(request, whyNone)]
            : refusals),
          ...(fits === false ? fitAdvice(choices, shortage, lacksMemory ? bytesWith : null) : []),
          ...reservedAdvice(gpu ? reserved.map((each) => ({ ...each, memoryBytes: 0 })) : reserved),
          ...(rows === null || size.parameters === null ? [] : sizeWarnings(rows, size.parameters)),
        ],
        request: {
          ...wholeRequest(request, choices, whyNone),
          model_name: asked.model_name,
          merge_adapter: asked.merge_adapter,
        },
      };
    },

    async checkDisk(judged) {
      const reserved = await reservedBy(await options.otherRuns(), judged.context);
      const find = () => shortageOf(runNeed(judged.size, judged, judged.disk), reserved, 0);
      const shortage = await find();
      if (shortage === null) return;
      await makeRoom(shortage.where, shortage.neededBytes - shortage.freeBytes);
      const left = await find();
      if (left !== null) throw diskFull(left);
    },

    async sizeWarnings(numExamples, modelName) {
      if (modelName === null) return sizeWarnings(numExamples, null);
      const { parameters } = await options.sizeOf(modelName);
      return parameters === null ? [] : sizeWarnings(numExamples, parameters);
    },

    async memoryOf(model, size) {
      const { facts, profile } = await options.machine();
      const { gpu, bytes } = usualNeed(
        model,
        size,
        'text-generation',
        await options.settingsContext(profile),
      );
      const memory = gpu ? facts.gpuTotalBytes : facts.ramTotalBytes;
      return { bytes, fits: bytes === null ? null : bytes <= memory };
    },

    async recommend(profile, task) {
      const context = await options.settingsContext(profile);
      const { possible } = options.selection.recommend(profile, task);
      return Promise.all(
        possible.map(async (model) => {
          const { billionParameters, licence, why } = reviewed(model) as NonNullable<
            ReturnType<typeof reviewed>
          >;
          const { bytes } = usualNeed(model, await options.sizeOf(model), task, context);
          return { model, why, billionParameters, licence, memoryBytes: Math.round(bytes ?? 0) };
        }),
      );
    },
  };
}
