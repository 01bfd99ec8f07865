import * as v from 'valibot';
import { jobStates, phaseNames, type RunOrder, runOrders } from '../../../contract/jobs.ts';
import { engineNames } from '../../../contract/journal.ts';
import { rowShapeNames } from '../../../contract/rows.ts';
import { exportOutcome, parent, verification } from '../../../domain/job-record/job.ts';
import { judgementKinds } from '../../../domain/jobs/verdict/judgement.ts';
import { about } from '../../../http/openapi.ts';
import { toolsFault } from '../common.ts';
import { evalFrame, exportFrame, lastPoint, logFrame, statusFrame } from '../frames/schemas.ts';
import { identity, searchQuery } from '../identity.ts';
import { wholeNumber } from '../whole-number.ts';

const filterText = v.optional(v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.maxLength(4096)));
const stateList = new RegExp(`^(${jobStates.join('|')})(,(${jobStates.join('|')}))*$`);
export const listQuery = v.object({
  state: about(
    v.optional(
      v.pipe(
        v.string(),
        v.regex(stateList, `must be one of ${jobStates.join(', ')}, or several with commas between them`),
        v.transform((text) => text.split(',')),
      ),
    ),
    'One state, or several separated by commas.',
  ),
  task: about(filterText, 'Only runs of this task.'),
  provider: about(filterText, 'Only runs of this provider.'),
  strategy: about(filterText, 'Only runs of this strategy.'),
  model_name: about(filterText, 'Only runs of this base model, as named in the request.'),
  dataset: about(filterText, 'Only runs on this dataset.'),
  ...searchQuery.entries,
  sweep: about(
    v.optional(
      v.pipe(
        v.string(),
        v.regex(/^sweep_\d{1,15}$/, 'must be the ID of a sweep, such as sweep_1'),
        v.transform((name) => Number(name.slice('sweep_'.length))),
      ),
    ),
    'Only the trials of this sweep, such as sweep_1.',
  ),
  trials: about(
    v.optional(v.picklist(['folded'], 'must be folded')),
    '`folded`: the first trial of each sweep stands for the others.',
  ),
  sort: about(
    v.optional(
      v.pipe(
        v.string(),
        v.regex(
          new RegExp(`^-?(${runOrders.join('|')})$`),
          `must be one of ${runOrders.join(', ')}, with a hyphen before it from high to low`,
        ),
        v.transform((text) => ({ by: text.replace('-', '') as RunOrder, down: text.startsWith('-') })),
      ),
    ),
    `What they are ordered by: ${runOrders.join(', ')}; with a hyphen before it from high to low. What is unknown is last. Newest first by default.`,
  ),
  limit: wholeNumber(50, 1000, 'The most runs.'),
  offset: wholeNumber(0, 999_999_999, 'How many runs are left out at the beginning.'),
});
/** `discard` deletes the job instead of saving a checkpoint. */
export const stopBody = v.optional(v.strictObject({ discard: v.optional(v.boolean(), false) }), {});
/** `queue` lets the job wait while there is no room for it. */
export const resumeBody = v.optional(v.strictObject({ queue: v.optional(v.boolean(), false) }), {});
export const metricsQuery = v.object({
  points: wholeNumber(0, 1_000_000, 'The most points; 0 for as many as one answer holds (50,000).'),
});
export const logQuery = v.object({
  bytes: wholeNumber(65_536, 16_777_216, 'The most bytes, from the end of the log.'),
});
export const job = v.object({
  job_id: v.string(),
  model_id: v.string(),
  state: v.picklist(jobStates),
  progress: v.number(),
  message: v.string(),
  error: v.nullable(
    v.object({
      code: v.nullable(v.string()),
      message: v.nullable(v.string()),
      advice: v.nullable(v.string()),
      evidence: v.nullable(v.string()),
      exit_code: v.nullable(v.number()),
      exit_signal: v.nullable(v.string()),
    }),
  ),
  task: v.string(),
  provider: v.string(),
  strategy: v.string(),
  model_name: v.string(),
  dataset: v.string(),
  created_at: v.string(),
  started_at: v.nullable(v.string()),
  ended_at: v.nullable(v.string()),
  /** How long its attempts before the latest one ran; `started_at` is the start of the latest. */
  earlier_seconds: v.number(),
  phase: v.nullable(v.picklist(phaseNames)),
  phase_progress: v.nullable(v.number()),
  detail: v.nullable(v.string()),
  /** How long it still takes, export and verification included; `null` unless it runs, and before that is known. */
  seconds_left: v.nullable(v.number()),
  /** When it is expected to end. */
  expected_end: v.nullable(v.string()),
  last_metric: v.nullable(lastPoint),
  metrics: v.nullable(v.record(v.string(), v.nullable(v.number()))),
  verification: v.nullable(verification),
  /** What became of its GGUF files; `null` unless it is completed. */
  export: v.nullable(exportOutcome),
  resumable: v.boolean(),
  ...identity,
  /** The sweep that it is a trial of. */
  sweep_id: v.nullable(v.string()),
  /** How much lower its evaluation loss is than its base model's, as a share of it (0.8 is 80% lower). */
  gain: v.nullable(v.number()),
});
export const jobs = v.object({
  jobs: v.array(job),
  total: v.number(),
  /** With `trials=folded`: how many trials a job of a sweep stands for, itself included, by its ID. */
  folded: v.exactOptional(v.record(v.string(), v.number())),
});
const measured = {
  base: v.nullable(v.number()),
  tuned: v.number(),
  /** That of the model whose adapter the run goes on from; absent without one. */
  parent: v.exactOptional(v.number()),
};
/** What a completed job gained: figures and answers of the base model and of the trained one. */
const verdict = v.object({
  /** Whether the exported file matches the trained model; `null` without a file. */
  verified: v.nullable(v.boolean()),
  duration_seconds: v.nullable(v.number()),
  /** The loss on the held-out rows. */
  loss: v.nullable(v.object(measured)),
  /** What the task is judged by, on the held-out rows. */
  metric: v.nullable(v.object({ name: v.string(), ...measured })),
  /** Why base and trained model are not compared. */
  reason: v.nullable(v.string()),
  /** What the training came to, in a sentence, and what follows from it. */
  judgement: v.object({
    kind: v.picklist(judgementKinds),
    sentence: v.string(),
    /** What to bear in mind about the figures. */
    notes: v.array(v.string()),
    /** Settings to train again with. */
    changes: v.nullable(v.record(v.string(), v.union([v.number(), v.boolean()]))),
    /** The step of a kept checkpoint that is better than the model. */
    checkpoint: v.nullable(v.number()),
  }),
  /** How much of the base model was kept, measured on general text; `null` where it was not measured. */
  retention: v.nullable(
    v.object({
      loss: v.object({ base: v.number(), tuned: v.number() }),
      /** The divergence from the base model's predictions in answers to general questions, in nats a token. */
      kl: v.nullable(v.number()),
      /** What to do about it if much was lost. */
      advice: v.nullable(v.string()),
      /** The losses at parts of the adapter's strength; empty unless much was lost. */
      strengths: v.array(
        v.object({
          strength: v.number(),
          general_loss: v.number(),
          /** On rows of the dataset, held-out ones if there are any. */
          loss: v.nullable(v.number()),
        }),
      ),
      /** The same at kept checkpoints. */
      checkpoints: v.array(
        v.object({ step: v.number(), general_loss: v.number(), loss: v.nullable(v.number()) }),
      ),
    }),
  ),
  prompts: v.array(
    v.object({
      prompt: v.string(),
      /** The answer that is wanted, where it is known. */
      reference: v.nullable(v.string()),
      /** The test of the answers: the score of a grader, or equality with the reference (1 or 0), at least `threshold` to pass. */
      test: v.nullable(
        v.object({
          grader: v.nullable(v.string()),
          threshold: v.number(),
          base: v.nullable(v.number()),
          tuned: v.nullable(v.number()),
        }),
      ),
      /** Whether it is a row that was trained on, because none was held out. */
      trained: v.boolean(),
      base: v.nullable(v.string()),
      tuned: v.nullable(v.string()),
      /** The answers at the kept checkpoints. */
      checkpoints: v.array(v.object({ step: v.number(), text: v.string() })),
      /** The answer of the exported file. */
      file: v.nullable(v.object({ quantization: v.string(), text: v.string() })),
    }),
  ),
});
export const jobData = v.object({
  rows: v.nullable(v.number()),
  /** Of the file with these rows, which the job keeps; `null` if it is gone. */
  sha256: v.nullable(v.string()),
  /** The name that its dataset has now; `null` if there is none. */
  dataset: v.nullable(v.string()),
  /** Whether this dataset has other rows now; `null` if that cannot be told. */
  changed: v.nullable(v.boolean()),
});
export const jobDetail = v.object({
  ...job.entries,
  /** What the rows are; `null` if the job's specification does not tell. */
  row_shape: v.nullable(v.picklist(rowShapeNames)),
  /** The model that it goes on from, with the step of its checkpoint, if it is one; `how` tells what is done with it. */
  parent: v.nullable(parent),
  /** The dataset that it validates on, if that is not a part of `dataset`. */
  validation_dataset: v.nullable(v.string()),
  settings: v.record(v.string(), v.unknown()),
  /** What its workers run on, with the workers of each of the cluster's nodes; `null` until that is known. */
  engine: v.nullable(
    v.object({
      name: v.picklist(['single', ...engineNames]),
      nodes: v.nullable(v.record(v.string(), v.nullable(v.number()))),
    }),
  ),
  /** The training request that starts it again, with every setting; `null` if the settings are unknown. */
  request: v.nullable(v.record(v.string(), v.unknown())),
  /** The GGUF types that it makes; none for a training without an export. */
  quantizations: v.array(v.string()),
  /** Whether it took its last step, so that resuming it only exports. */
  trained: v.boolean(),
  /** Whether the base model's own chat template is used; `false` before a run has chosen. */
  chat_template: v.boolean(),
  /** The most tokens of a prompt and its answer; `null` before a run has chosen. */
  context_length: v.nullable(v.number()),
  tools_fault: toolsFault,
  /** That of the conversations that it trains on; `null` if they have none in common. */
  system_prompt: v.nullable(v.string()),
  /** The tools of its first rows, up to 16, each name once. */
  tools: v.array(
    v.object({
      type: v.literal('function'),
      function: v.object({
        name: v.string(),
        description: v.optional(v.string()),
        parameters: v.optional(v.record(v.string(), v.unknown())),
      }),
    }),
  ),
  artifacts: v.array(v.looseObject({})),
  /** Those that are kept, by step; the playground answers with each. */
  checkpoints: v.array(
    v.object({
      step: v.number(),
      /** Relative to the job folder. */
      path: v.string(),
      created_at: v.string(),
      metrics: v.record(v.string(), v.nullable(v.number())),
    }),
  ),
  consumption: v.object({
    gpu_kilowatt_hours: v.nullable(v.number()),
    cpu_kilowatt_hours: v.nullable(v.number()),
    gpu_peak_bytes: v.nullable(v.number()),
    ram_peak_bytes: v.nullable(v.number()),
    gpu_mean_utilization_percent: v.nullable(v.number()),
    cpu_mean_percent: v.nullable(v.number()),
  }),
  /** `null` unless the job is completed. */
  verdict: v.nullable(verdict),
});
const event = v.union([statusFrame, evalFrame, logFrame, exportFrame]);
export type Event = v.InferOutput<typeof event>;
export const events = v.object({ events: v.array(event) });
