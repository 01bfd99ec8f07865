import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { defaultQuantizations, type Quantization } from '../../contract/models/quantizations.ts';
import type { RowShape } from '../../contract/rows.ts';
import type { WeightedGrader } from '../../contract/settings.ts';
import {
  comparesAnswers,
  promptsPerStep,
  type StepSettings,
  trainingRows,
} from '../../contract/training/steps.ts';
import { AppError, type FieldIssue } from '../../errors.ts';
import { createFaults, type Faults, refusalOf } from '../../faults.ts';
import type { Description, Teacher } from '../../trainer/protocol.ts';
import { withAdapter } from '../base-models/adapter-base.ts';
import { type BaseModel, checkBase, checkLocalModel, locateModel } from '../base-models/base-model.ts';
import { type ModelKind, whyNoGguf } from '../base-models/gguf/gguf-verdict.ts';
import { hasMoreThanText, whyNotPair, whyNotShape } from '../base-models/model-pair.ts';
import type { ModelSize, SizeOf } from '../base-models/model-size.ts';
import {
  modelNotes,
  whyNotLoaded,
  whyNotWhole,
  whyTwiceQuantized,
  whyUnusable,
} from '../base-models/model-verdict.ts';
import type { Parents } from '../base-models/parent.ts';
import type { Datasets } from '../datasets/datasets.ts';
import { readDataset } from '../datasets/files/dataset-file.ts';
import { requireBothLabels } from '../datasets/rows/label-rule.ts';
import type { TrainingData } from '../datasets/training-data.ts';
import type { Graders } from '../graders/graders.ts';
import { rowShapesFor } from '../machine/trainer-registry.ts';
import { type DiskNeed, diskNeed } from './estimate/disk-need.ts';
import { goingOnSentence, goOn } from './going-on.ts';
import { type ChoiceJudges, type JudgedChoices, judgeChoices } from './judge-choices.ts';
import { judgeVocabulary } from './judge-vocabulary.ts';
import { runGraders, runPrompts } from './run-graders.ts';
import { judgeTeacher } from './teaching/find-teacher.ts';
import type { ReadRequest, TrainingRequest } from './training-request.ts';

/** A validated request: everything that a specification needs except the job's folder. */
export interface JudgedRequest extends JudgedChoices {
  readonly request: TrainingRequest;
  readonly size: ModelSize;
  readonly base: BaseModel;
  /** The folder of the adapter that is trained on; `null` where a new one begins. */
  readonly start: string | null;
  /** Makes the folder of the adapter to merge (`GoingOn`), of whose shape `base` is until then. */
  readonly make: (() => Promise<string>) | null;
  readonly data: TrainingData;
  /** The rows to validate on, if they are not a part of `data`. */
  readonly validation: TrainingData | null;
  readonly disk: DiskNeed;
  /** Whom it learns from; `null` without a teacher. */
  readonly teacher: Teacher | null;
  /** Warnings that do not prevent a start. */
  readonly warnings: readonly string[];
}

/** What a request is validated against. */
export interface Judges extends ChoiceJudges {
  readonly datasets: Datasets;
  readonly graders: Pick<Graders, 'get' | 'list'>;
  readonly sizeOf: SizeOf;
  readonly parents: Parents;
}

/** The GGUF types for a request; none if it asks for none, or names none and `whyNone` rules them out. */
export function exportTypes(
  request: Pick<TrainingRequest, 'export'>,
  whyNone: string | null,
): readonly Quantization[] {
  if (request.export === 'none') return [];
  return request.export?.quantizations ?? (whyNone === null ? defaultQuantizations : []);
}

/** The warning for a run without a GGUF file, although the request did not rule it out. */
export const noGgufWarning = (whyNone: string): string =>
  `There will be an adapter and no GGUF file: ${whyNone}.`;

/**
 * Validates a request as far as possible before it runs.
 * @param mayDefine whether its client may define graders of every type (`Graders.requireAllowed`).
 * @throws AppError `invalid` (or `not_found`, if that is the only error) with every error and how to fix it.
 */
export async function judgeRequest(
  request: TrainingRequest,
  judges: Judges,
  mayDefine = false,
): Promise<JudgedRequest> {
  const faults = createFaults();
  const judged = await judge({ fields: request, refused: new Set() }, judges, faults, mayDefine);
  faults.raise();
  const { choices, model, data, validation, disk, teacher } = judged;
  if (
    choices.strategy === null ||
    choices.provider === null ||
    model === null ||
    data === null ||
    disk === null
  )
    throw new AppError('internal', 'A request without errors was not fully validated.');
  const { size } = model;
  const { warnings, going } = judged;
  const { parent, start, make } = going;
  const base = parent === null ? model.base : { ...model.base, parent };
  const asked = going.fields as TrainingRequest;
  return {
    ...(choices as JudgedChoices),
    request: asked,
    base,
    start,
    make,
    size,
    data,
    validation,
    disk,
    teacher,
    warnings,
  };
}

/** Every error in a request, as far as it can be read. */
export async function findFaults(request: ReadRequest, judges: Judges): Promise<readonly FieldIssue[]> {
  const faults = createFaults();
  await judge(request, judges, faults);
  return faults.issues();
}

async function judge(request: ReadRequest, judges: Judges, faults: Faults, mayDefine = false) {
  const { model_name: _, ...rest } = request.fields;
  const found = await faults.of('model_name', () => goOn(request.fields, judges.parents));
  const going = found ?? { fields: rest, parent: null, start: null, make: null };
  const { refused } = request;
  const fields: ReadRequest['fields'] = going.fields;
  const choices = await judgeChoices({ fields, refused }, judges, faults);
  const { task, strategy, settings, context } = choices;
  const model =
    fields.model_name === undefined
      ? null
      : await judgeModel(fields.model_name, fields.merge_adapter ?? false, judges, faults);
  const description = await judges.registry.get();
  const whyUnfit =
    model === null || task == null || strategy === null
      ? null
      : whyNotPair(model.kind, task, strategy, description);
  const unusable = model === null ? [] : whyUnusable(fields.model_name as string, model.size, description);
  for (const why of unusable.length > 0 || whyUnfit === null ? unusable : [whyUnfit])
    faults.add('model_name', why);
  for (const setting of ['use_4bit', 'use_8bit'] as const) {
    const why = model === null || !settings[setting] ? null : whyTwiceQuantized(model.kind, setting);
    if (why !== null) faults.add(setting, why);
  }
  const notWhole = model === null || settings.adapter !== 'full' ? null : whyNotWhole(model.kind);
  if (notWhole !== null) faults.add('adapter', notWhole);
  judgeVocabulary({ fields, refused }, choices, model?.kind ?? null, going.parent !== null, faults);
  const teacher =
    strategy === 'distill'
      ? await judgeTeacher(fields.teacher ?? null, model, judges, description, faults)
      : null;
  if (strategy === 'rlhf') await judgeReward(fields.reward_model ?? null, model, judges, description, faults);
  const whyNone = model === null ? null : whyNoGguf(model.kind, description);
  const wanted = refused.has('export') || fields.export === 'none' ? null : (fields.export ?? null);
  if (wanted !== null && whyNone !== null) {
    faults.add(
      'export',
      `There can be no GGUF file: ${whyNone}. Leave "export" out, or set it to "none", to train without one, or choose another model`,
    );
  }
  const leftOpen = !refused.has('export') && fields.export == null;
  const { dataset, validation_dataset: validationDataset } = fields;
  const shapes = rowShapesFor(description, task, strategy);
  const data =
    dataset === undefined
      ? null
      : await faults.of('dataset', () => judges.datasets.forTraining(dataset, shapes));
  if (data !== null && strategy === 'kto') await faults.of('dataset', () => requireBothLabels(data));
  const whyNot = data === null || model === null ? null : whyNotShape(model.kind, data.shape);
  if (whyNot !== null) faults.add('dataset', whyNot);
  const validation =
    validationDataset == null
      ? null
      : await faults.of('validation_dataset', () =>
          judgeValidation(validationDataset, data, shapes, judges.datasets),
        );
  if (data !== null && strategy !== null && !stepFields.some((field) => refused.has(field)))
    judgeStep(settings, strategy, data, faults);
  // Where answers are compared, graders reward those to the rows that are trained.
  const graded = comparesAnswers(strategy) ? data : (validation ?? data);
  const graders =
    settings.graders === null
      ? null
      : await runGraders(settings.graders, judges.graders, graded, faults, mayDefine);
  if (strategy === 'rlhf' && graders?.some((one) => nameOf(one) === rewardModelName))
    faults.add(
      'graders',
      `rlhf has a reward of its own that is called ${rewardModelName}; name the grader differently`,
    );
  const golden_prompts =
    settings.golden_prompts === null
      ? null
      : await runPrompts(settings.golden_prompts, judges.graders, faults, mayDefine);
  return {
    going,
    choices: { ...choices, settings: { ...settings, graders, golden_prompts } },
    model,
    data,
    validation,
    teacher,
    disk:
      strategy === null || data === null
        ? null
        : diskNeed(
            settings,
            context.optimizerStateBytes[settings.optim] ?? 0,
            {
              strategy,
              rows: data.numExamples,
              bytes: await bytesOf(data, validation),
              vocabulary: model?.size.shape?.vocabulary ?? null,
            },
            exportTypes(fields, whyNone),
          ),
    warnings: [
      ...(going.parent === null ? [] : [goingOnSentence(going.parent)]),
      ...(model === null ? [] : modelNotes(model.size, description)),
      ...(leftOpen && whyNone !== null ? [noGgufWarning(whyNone)] : []),
    ],
  };
}

/** The reward model of `rlhf`, or what one would be trained of. */
async function judgeReward(
  named: string | null,
  model: { readonly kind: ModelKind } | null,
  { sizeOf }: Judges,
  description: Description,
  faults: Faults,
): Promise<void> {
  if (named !== null && isAbsolute(named))
    await faults.of('reward_model', async () => {
      await checkLocalModel(named);
      for (const why of whyNotLoaded(named, await sizeOf(named), description))
        faults.add('reward_model', why);
    });
  if (named === null && model !== null && hasMoreThanText(model.kind, description))
    faults.add(
      'reward_model',
      'A reward model cannot be made of the text part of this model. Name one in "reward_model", or choose the strategy dpo',
    );
}

async function judgeModel(
  reference: string,
  merges: boolean,
  { sizeOf }: Judges,
  faults: Faults,
): Promise<{ base: BaseModel; size: ModelSize; kind: ModelKind } | null> {
  const named = await faults.of('model_name', () => locateModel(reference));
  const base = named && merges ? await faults.of('merge_adapter', () => withAdapter(named)) : named;
  if (base === null) return null;
  return faults.of('model_name', async () => {
    await checkBase(base);
    const size = await sizeOf(reference, merges);
    return { base, size, kind: size.kind };
  });
}

/** The bytes of the rows, of those of validation, too. */
async function bytesOf(...files: readonly (TrainingData | null)[]): Promise<number> {
  const sizes = files.map(async (file) => (file === null ? 0 : (await stat(file.path)).size));
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The name of the reward model among the rewards of `rlhf` (trainer/strategies/rlhf.py). */
const rewardModelName = 'reward_model';

const nameOf = (one: WeightedGrader) => (typeof one === 'string' ? one : one.grader?.name);

/** The dataset to validate on: of the shape of `data`, and another file. */
export async function judgeValidation(
  reference: string,
  data: TrainingData | null,
  shapes: readonly RowShape[] | null,
  datasets: Datasets,
): Promise<TrainingData> {
  const validation = await datasets.forTraining(reference, data === null ? shapes : [data.shape]);
  if (data === null) return validation;
  const [one, other] = await Promise.all(
    [data, validation].map(({ path, name }) => readDataset(path, name, () => stat(path))),
  );
  if (one?.dev === other?.dev && one?.ino === other?.ino) {
    throw refusalOf(
      'validation_dataset',
      'validation_dataset is the dataset itself, which would say nothing about rows that were not trained on. Split it (POST /api/datasets/{name}/split), or set eval_split instead',
    );
  }
  return validation;
}

const stepFields = [
  'per_device_train_batch_size',
  'gradient_accumulation_steps',
  'eval_split',
  'group_size',
  'compute_specs',
];

/** A step that compares answers to more prompts than there are rows would never be completed. */
function judgeStep(settings: StepSettings, strategy: string, data: TrainingData, faults: Faults): void {
  const prompts = promptsPerStep(settings, strategy);
  const rows = trainingRows(data.numExamples, settings.eval_split);
  if (prompts !== null && prompts > rows) {
    faults.add(
      'gradient_accumulation_steps',
      `a step of ${strategy} takes ${prompts} prompts (per_device_train_batch_size × gradient_accumulation_steps, shared by the answers to each), and ${rows} rows are trained; lower one of the two`,
    );
  }
}
