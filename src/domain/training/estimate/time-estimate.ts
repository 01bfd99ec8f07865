import type { Settings } from '../../../contract/settings.ts';
import { comparesAnswers, totalSteps } from '../../../contract/training/steps.ts';
import { partsOf } from '../../job-record/timing/run-clock.ts';
import type { PlannedPart, TimePlan } from '../../job-record/timing/time-plan.ts';
import { partSeconds, type TimedParts } from './part-seconds.ts';
import { fixedShare, type StepTime } from './step-times.ts';

/** What an earlier run of the same model took on this machine. */
export interface TimedRun extends TimedParts {
  /** The job's ID in the API. */
  readonly name: string;
  readonly strategy: string;
  readonly provider: string;
  readonly settings: Settings;
  readonly dataset: string;
  readonly rows: number;
  /** Rows that it validated on. */
  readonly heldOutRows: number;
  /** Steps so far, the seconds that they took without evaluations, and the tokens of their rows. */
  readonly steps: number;
  readonly stepSeconds: number;
  readonly tokens: number;
  /** Its latest steps, which are read only when asked for. */
  readonly stepTimes: () => readonly StepTime[];
  /** One evaluation of the rows that it validated on; `null` if there was none. */
  readonly evaluationSeconds: number | null;
}

/** A run that has not been started. */
export type PlannedRun = Pick<
  TimedRun,
  'strategy' | 'provider' | 'settings' | 'dataset' | 'rows' | 'heldOutRows' | 'steps' | 'quantizations'
> & {
  /** Of the base model; `null` if unknown. */
  readonly parameters: number | null;
  /** The mean size of a row in a dataset, in bytes; `null` if the dataset is gone. */
  readonly bytesPerRow: (dataset: string) => number | null;
};

/** How long a run will take, in seconds, and by which earlier run. */
export interface TimeEstimate {
  readonly totalSeconds: number;
  readonly trainSeconds: number;
  readonly prepareSeconds: number;
  readonly exportSeconds: number;
  readonly basis: string;
  /** Whether the earlier run differed in more than the amount of work. */
  readonly isRough: boolean;
}

/** The work of evaluating a row, in those of training on it: one pass of three (forward, and backward as two). */
const evaluationShare = 1 / 3;

/** Trained tokens that take as long as one written token (`TRAINED_PER_WRITTEN` in trainer/training/answer_budget.py). */
const trainedPerWritten = 12;

/**
 * Rows that an evaluation answers for graders at least, and without them (`LEAST_ROWS` in trainer/training/answer_budget.py,
 * `SAMPLES` in trainer/training/generate.py).
 */
const gradedRows = 16;
const shownRows = 3;

/** Settings that change how long the same work takes. */
const paceSettings = [
  'use_4bit',
  'use_8bit',
  'bf16',
  'fp16',
  'adapter',
  'gradient_checkpointing',
  'packing',
  'workers',
  'max_answer_tokens',
] as const satisfies readonly (keyof Settings)[];

const rowsPerStep = ({ per_device_train_batch_size, gradient_accumulation_steps }: Settings) =>
  per_device_train_batch_size * gradient_accumulation_steps;

/** How often a run evaluates during training and at its end, beside the base model. */
function evaluations({ settings, strategy, rows, heldOutRows, steps }: PlannedRun): number {
  if (heldOutRows === 0) return 0;
  const ofEpoch = totalSteps({ ...settings, max_steps: -1, num_train_epochs: 1 }, strategy, rows);
  return Math.ceil(steps / (settings.eval_steps ?? ofEpoch));
}

/** How many batches go through the model. */
const passes = ({ steps, settings }: Pick<TimedRun, 'steps' | 'settings'>) =>
  steps * settings.gradient_accumulation_steps;

const tokensPerRow = (run: TimedRun) => run.tokens / (run.steps * rowsPerStep(run.settings));

/**
 * How many tokens a row of the planned run has, by those of an earlier one. Where that wrote no answers and the planned one does,
 * each of them has the most tokens, and those that are written count as they take time.
 */
function plannedTokensPerRow(run: TimedRun, planned: PlannedRun): number {
  const { dataset, settings, bytesPerRow } = planned;
  const [before, now] = [bytesPerRow(run.dataset), bytesPerRow(dataset)];
  const ratio = run.dataset === dataset || before === null || now === null ? 1 : now / before;
  const isNew = comparesAnswers(planned.strategy) && !comparesAnswers(run.strategy);
  const written = isNew ? settings.max_answer_tokens : 0;
  const tokens = tokensPerRow(run) * ratio + written;
  const most = settings.max_seq_length > 0 ? Math.min(tokens, settings.max_seq_length) : tokens;
  return most + written * trainedPerWritten;
}

/** How many of the things that change the pace differ. */
const differences = (run: TimedRun, planned: PlannedRun) =>
  paceSettings.filter((name) => run.settings[name] !== planned.settings[name]).length +
  (run.strategy === planned.strategy ? 0 : 2) +
  (run.provider === planned.provider ? 0 : 2);

/** How far the rows of a step are from the planned ones: a step of few rows does less in the same time. */
function distance(run: TimedRun, planned: PlannedRun): number {
  const tokens = (settings: Settings, ofRow: number) => rowsPerStep(settings) * ofRow;
  const [before, now] = [
    tokens(run.settings, tokensPerRow(run)),
    tokens(planned.settings, plannedTokensPerRow(run, planned)),
  ];
  return Math.abs(Math.log(now / before)) + differences(run, planned);
}

/** How many times the answers of an evaluation are those without graders: these have rows of their own answered. */
const timesAnswered = ({ strategy, settings, heldOutRows }: PlannedRun | TimedRun) =>
  settings.graders && strategy !== 'grpo' ? Math.max(1, Math.min(gradedRows, heldOutRows) / shownRows) : 1;

/**
 * How long one evaluation of the planned run takes: its rows, by the steps of an earlier run, and its answers, whose number does
 * not grow with the rows: what an evaluation of an earlier run took beyond its rows, or as many seconds as its answers alone.
 * Graders have more rows answered.
 */
function evaluationSeconds(told: readonly TimedRun[], planned: PlannedRun, answers: number): number {
  const evaluated = told.find((run) => run.evaluationSeconds !== null && run.heldOutRows > 0);
  const nearest = evaluated ?? (told[0] as TimedRun);
  const ofRows = (tokens: number) => (tokens * nearest.stepSeconds * evaluationShare) / nearest.tokens;
  const tokens = planned.heldOutRows * plannedTokensPerRow(nearest, planned);
  const times = timesAnswered(planned);
  if (evaluated === undefined) return ofRows(tokens) + times * answers;
  const before = evaluated.heldOutRows * tokensPerRow(evaluated);
  const took = evaluated.evaluationSeconds ?? 0;
  const rows = Math.min(took, ofRows(before));
  const more = Math.max(0, times - timesAnswered(evaluated)) * answers;
  return (rows * tokens) / before + took - rows + more;
}

/** The runs that tell of steps, those that are most like the planned one first. */
const tellingRuns = (runs: readonly TimedRun[], planned: PlannedRun): TimedRun[] =>
  runs
    .filter(({ steps, tokens, stepSeconds }) => steps > 0 && tokens > 0 && stepSeconds > 0)
    .map((run) => ({ run, far: distance(run, planned) }))
    .sort((one, other) => one.far - other.far)
    .map(({ run }) => run);

/**
 * Plans the time of a run by the earlier run of the same model that is most like it: of the time of its steps, the share that
 * each batch takes however small it is grows with the batches, and the rest with the tokens. An evaluation and the parts
 * before and after training take what they took.
 * @param runs newest first; those without a step tell nothing.
 */
export function planTime(runs: readonly TimedRun[], planned: PlannedRun): TimePlan {
  const told = tellingRuns(runs, planned);
  const isTold = ({ steps, tokens }: TimedRun) => steps > 0 && tokens > 0;
  const plan: TimePlan = {
    seconds: partSeconds(runs.filter(isTold), planned.quantizations, planned.parameters),
    stepSeconds: null,
    evaluationSeconds: null,
    steps: planned.steps,
    evaluations: evaluations(planned),
    answersAtEnd: planned.heldOutRows === 0 || planned.settings.eval_steps === null,
  };
  const nearest = told[0];
  if (nearest === undefined) return plan;
  const tokens = planned.steps * rowsPerStep(planned.settings) * plannedTokensPerRow(nearest, planned);
  const fixed = fixedShare(nearest.stepTimes());
  const times = (fixed * passes(planned)) / passes(nearest) + ((1 - fixed) * tokens) / nearest.tokens;
  return {
    ...plan,
    stepSeconds: (nearest.stepSeconds * times) / planned.steps,
    evaluationSeconds: evaluationSeconds(told, planned, plan.seconds.answers ?? 0),
  };
}

const sumOf = (plan: TimePlan, parts: readonly PlannedPart[]) =>
  parts.reduce((sum, part) => sum + (plan.seconds[part] ?? 0), 0);

/** What a plan comes to. @returns `null` if no earlier run tells how long a step takes. */
export function estimateTime(runs: readonly TimedRun[], planned: PlannedRun): TimeEstimate | null {
  const [nearest] = tellingRuns(runs, planned);
  const plan = planTime(runs, planned);
  if (nearest === undefined || plan.stepSeconds === null) return null;
  const evaluated = plan.evaluations === 0 ? 0 : 1 + plan.evaluations;
  const answered = (plan.evaluations === 0 ? 1 : 0) + (plan.answersAtEnd ? 1 : 0);
  const saving = plan.seconds.save ?? 0;
  const trainSeconds =
    plan.steps * plan.stepSeconds +
    evaluated * (plan.evaluationSeconds ?? 0) +
    answered * (plan.seconds.answers ?? 0) +
    saving;
  const prepareSeconds = sumOf(plan, partsOf('before'));
  const exportSeconds = sumOf(plan, partsOf('after')) - saving;
  return {
    totalSeconds: prepareSeconds + trainSeconds + exportSeconds,
    trainSeconds,
    prepareSeconds,
    exportSeconds,
    basis: nearest.name,
    isRough: differences(nearest, planned) > 0,
  };
}
