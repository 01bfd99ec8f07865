import { isOfGrader } from '../../../contract/evaluations.ts';
import { graderFigure } from '../../../contract/graders/grader-types.ts';
import { quantizations } from '../../../contract/models/quantizations.ts';
import type { Settings } from '../../../contract/settings.ts';
import { suitedRate } from '../../../contract/training/presets.ts';
import { comparesAnswers, heldOutRows } from '../../../contract/training/steps.ts';
import type { EventStore } from '../../../db/tables/events.ts';
import type { Job } from '../../job-record/job.ts';
import { runSeconds } from '../../job-record/timing/run-seconds.ts';
import { type EvaluatedStep, type Judgement, judge, type Pair } from './judgement.ts';
import { type Retention, readRetention } from './retention.ts';

/** A prompt with the answer that is wanted, if it is known, and the answers of the models. */
export interface GoldenPrompt {
  readonly prompt: string;
  readonly reference: string | null;
  /** What its answers have to be; `null` if nothing tests them. */
  readonly test: PromptTest | null;
  /** Whether it is a row that was trained on, because none was held out. */
  readonly trained: boolean;
  readonly base: string | null;
  readonly tuned: string | null;
  /** Answers at the checkpoints that are kept. */
  readonly checkpoints: readonly { readonly step: number; readonly text: string }[];
  /** The answer of the exported file. */
  readonly file: { readonly quantization: string; readonly text: string } | null;
}

/** The test of a prompt's answers: equality with the reference (1 or 0), or the score of a grader. */
export interface PromptTest {
  readonly grader: string | null;
  /** The least score that passes. */
  readonly threshold: number;
  /** The scores of the models' answers; `null` without an answer, or where the grader cannot score it. */
  readonly base: number | null;
  readonly tuned: number | null;
}

/** What a completed training gained. */
export interface Verdict {
  /** Whether the exported file matches the trained model; `null` without a file. */
  readonly verified: boolean | null;
  readonly durationSeconds: number | null;
  readonly loss: Pair | null;
  /** What the task is judged by. */
  readonly metric: (Pair & { readonly name: string }) | null;
  /** Why base and trained model are not compared; `null` if they are. */
  readonly reason: string | null;
  readonly judgement: Judgement;
  readonly retention: Retention | null;
  readonly prompts: readonly GoldenPrompt[];
}

/** The metrics by which tasks and strategies are judged; of those that were measured, the first one. */
const judged = ['rougeL', 'f1', 'right_arguments', 'reward', 'rewards/margins', 'perplexity'];

/** The verdict on a job, `null` unless it is completed. `kept` are the steps of its checkpoints. */
export function readVerdict(
  events: Pick<EventStore, 'atStep' | 'samples' | 'steps' | 'bySeq' | 'ofJob'>,
  job: Job,
  kept: readonly number[],
): Verdict | null {
  if (job.state !== 'completed') return null;
  const tuned = job.resultMetrics ?? {};
  const base = baseMetrics(events, job.id);
  const pair = (name: string): Pair | null => {
    if (tuned[name] == null) return null;
    const found = { base: base?.[name] ?? null, tuned: tuned[name] };
    const parent = base?.[`parent/${name}`];
    return parent == null ? found : { ...found, parent };
  };
  const name = [...gradersOf(job), ...judged].find((metric) => tuned[metric] != null);
  const loss = comparesAnswers(job.strategy) ? null : pair('eval_loss');
  const metric = name === undefined ? null : pair(name);
  const lastStep = tuned.best_step ?? job.lastMetric?.step ?? 0;
  return {
    verified: job.verification?.passed ?? null,
    durationSeconds: job.startedAt === null || job.endedAt === null ? null : runSeconds(job),
    loss,
    metric: metric && { name: name as string, ...metric },
    reason: reasonOf(loss ?? metric),
    judgement: readJudgement(events, job, kept, loss, metric && { name: name as string, ...metric }),
    retention: readRetention(tuned, kept),
    prompts: readPrompts(events, job, kept, lastStep),
  };
}

/** The figures of a run's own graders, by which it is judged before all else. */
const gradersOf = ({ spec }: Job): string[] =>
  ((spec ?? {}) as StoredSpec).settings?.graders?.map((one) =>
    graderFigure(String((one as { grader?: { name?: unknown } }).grader?.name)),
  ) ?? [];

/** What a job was started with, as far as it is judged by that; parts may be absent. */
interface StoredSpec {
  readonly settings?: Partial<Settings>;
  readonly dataset?: { readonly rows: number };
  readonly validation?: { readonly rows: number } | null;
}

function readJudgement(
  events: Pick<EventStore, 'steps' | 'bySeq' | 'ofJob'>,
  job: Job,
  kept: readonly number[],
  loss: Pair | null,
  metric: Verdict['metric'],
): Judgement {
  const { settings, dataset, validation } = (job.spec ?? {}) as StoredSpec;
  const evaluations = events.bySeq(events.steps(job.id, 'eval')).map(({ payload }): EvaluatedStep => {
    const figures = payload.metrics as Readonly<Record<string, number | null>>;
    const { eval_loss: lost, mean_token_accuracy: accuracy } = figures;
    const score = metric === null ? null : figures[metric.name];
    return {
      step: payload.step as number,
      loss: lost ?? null,
      accuracy: accuracy ?? null,
      score: score ?? null,
    };
  });
  return judge({
    loss: metric !== null && isOfGrader(metric.name) ? null : loss,
    metric,
    evaluations,
    heldOutRows: validation?.rows ?? heldOutRows(dataset?.rows ?? 0, settings?.eval_split ?? 0),
    epochs: settings?.num_train_epochs ?? 1,
    trainedEpochs: job.lastMetric?.epoch ?? 0,
    maxSteps: Math.max(0, settings?.max_steps ?? 0),
    learningRate: settings?.learning_rate ?? 0,
    suitedRate: suitedRate(job.strategy, parametersOf(job)),
    lastStep: job.lastMetric?.step ?? 0,
    bestStep: job.resultMetrics?.best_step ?? null,
    kept,
    warnings: validation == null ? [] : overlaps(events, job.id),
  });
}

/** What the trainer says of validation rows that are trained on. */
const overlaps = (events: Pick<EventStore, 'ofJob'>, jobId: number): string[] => [
  ...new Set(
    events
      .ofJob(jobId, 'log')
      .filter(({ payload }) => payload.code === overlapCode)
      .map(({ payload }) => String(payload.message)),
  ),
];
const overlapCode = 'validation_overlap';

/** The weights of the model, about, by the size of its GGUF file. */
function parametersOf({ artifacts }: Job): number | null {
  for (const { kind, bytes, quantization } of artifacts) {
    const type = kind === 'gguf' ? quantizations[quantization as keyof typeof quantizations] : undefined;
    if (type !== undefined) return bytes / type.bytesPerWeight;
  }
  return null;
}

/** The evaluation before the first step. */
function baseMetrics(events: Pick<EventStore, 'atStep'>, jobId: number) {
  const evaluation = events.atStep(jobId, 0).find(({ payload }) => payload.kind === 'eval');
  return evaluation?.payload.metrics as Readonly<Record<string, number | null>> | undefined;
}

function reasonOf(measured: Pair | null): string | null {
  if (measured === null)
    return 'No rows were held out. Set eval_split or validation_dataset to compare the base model with the trained one.';
  return measured.base === null ? 'The base model was not measured before this training began.' : null;
}

function readPrompts(
  events: Pick<EventStore, 'samples'>,
  job: Job,
  kept: readonly number[],
  lastStep: number,
): GoldenPrompt[] {
  // The export answers for the last step, even if the best one was exported.
  const steps = new Set([0, ...kept, lastStep, job.lastMetric?.step ?? 0]);
  const { settings, validation } = (job.spec ?? {}) as StoredSpec;
  const isHeldOut = validation != null || settings?.eval_split !== 0;
  const asked = (settings?.golden_prompts ?? []).filter((one) => typeof one === 'object');
  const prompts = new Map<string, GoldenPrompt>();
  for (const { payload } of events.samples(job.id, [...steps])) {
    const { prompt, text, step, reference = null, file, scores } = payload as unknown as Sample;
    const own = asked.find((one) => one.prompt === prompt);
    const grader = own?.grader === undefined ? null : String((own.grader as { name?: unknown }).name);
    const found = prompts.get(prompt) ?? {
      prompt,
      reference,
      test: own === undefined ? null : { grader, threshold: own.threshold ?? 1, base: null, tuned: null },
      trained: reference !== null && !isHeldOut && own === undefined,
      base: null,
      tuned: null,
      checkpoints: [],
      file: null,
    };
    const score = grader === null ? Number(text.trim() === reference?.trim()) : (scores?.[grader] ?? null);
    prompts.set(prompt, withAnswer(found, { text, step, file, score }, kept, lastStep));
  }
  return [...prompts.values()];
}

interface Sample {
  readonly prompt: string;
  readonly text: string;
  readonly step: number;
  readonly reference?: string;
  readonly file?: string;
  readonly scores?: Readonly<Record<string, number | null>>;
}

interface Answer {
  readonly text: string;
  readonly step: number;
  readonly file: string | undefined;
  /** By the test of the prompt. */
  readonly score: number | null;
}

/** A prompt after another answer; a step that was repeated after a resume counts once. */
function withAnswer(
  found: GoldenPrompt,
  { text, step, file, score }: Answer,
  kept: readonly number[],
  lastStep: number,
): GoldenPrompt {
  if (file !== undefined) return { ...found, file: { quantization: file, text } };
  const { test } = found;
  if (step === 0) return { ...found, base: text, test: test && { ...test, base: score } };
  const others = found.checkpoints.filter((answer) => answer.step !== step);
  return {
    ...found,
    tuned: step === lastStep ? text : found.tuned,
    test: step === lastStep ? test && { ...test, tuned: score } : test,
    checkpoints: kept.includes(step) ? [...others, { step, text }] : found.checkpoints,
  };
}
