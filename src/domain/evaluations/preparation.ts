import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { keptRows, scoredRows } from '../../contract/evaluations.ts';
import { type RowShape, rowShapes } from '../../contract/rows.ts';
import type { Settings } from '../../contract/settings.ts';
import { AppError, type FieldIssue } from '../../errors.ts';
import { createFaults, type Faults } from '../../faults.ts';
import { type EvaluationOrder, writeOrder } from '../../trainer/evaluate.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import { locateBase } from '../base-models/adapter-base.ts';
import { checkBase } from '../base-models/base-model.ts';
import { isDecoder } from '../base-models/model-pair.ts';
import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import { readLines } from '../datasets/rows/read-lines.ts';
import type { TrainingData } from '../datasets/training-data.ts';
import type { Graders } from '../graders/graders.ts';
import { jobName } from '../job-record/job.ts';
import type { Models } from '../models/models.ts';
import { writeSpec } from '../training/job-spec.ts';
import { type JudgedRequest, type Judges, judgeRequest } from '../training/judge-request.ts';
import { evaluationName } from './evaluation.ts';
import { evaluationRowsName } from './evaluation-file.ts';
import type { EvaluationRequest } from './evaluation-request.ts';
import { requireGradable } from './gradable-rows.ts';
import { countKnownRows, knownRowsWarning } from './known-rows.ts';
import { type FoundSubject, findSubject, type Subject } from './subject.ts';

export interface PreparationOptions {
  readonly models: Models;
  readonly checkpoints: Checkpoints;
  readonly graders: Pick<Graders, 'named'>;
  readonly judges: Judges;
  readonly tools: JobSpec['tools'];
  /** The folder of the evaluations' folders. */
  readonly dir: string;
  /** That of the runs' folders. */
  readonly jobsDir: string;
}

/** A valid request. */
export interface Prepared {
  readonly subject: Subject;
  /** The dataset's name. */
  readonly dataset: string;
  readonly shape: RowShape;
  /** How many rows are scored. */
  readonly rows: number;
  /**
   * Makes the folder of an evaluation, with what is scored, and keeps the rows of the dataset beside it.
   * @throws AppError `disk_full`.
   */
  write(id: number): Promise<Written>;
}

/** What is known of the rows that are scored. */
export interface Written {
  /** Their SHA-256. */
  readonly rowsDigest: string;
  readonly warnings: readonly string[];
}

/** Validates requests and makes the folders of evaluations. */
export interface Preparation {
  /** @throws AppError `invalid` or `not_found` with every error. */
  judge(request: EvaluationRequest): Promise<Prepared>;
  faults(fields: Partial<EvaluationRequest>, refused: ReadonlySet<string>): Promise<readonly FieldIssue[]>;
}

/** How the rows of a shape are read: as a training on them would. */
const trainings: Readonly<Record<RowShape, { readonly task: string; readonly strategy: string }>> = {
  'input-output': { task: 'text-generation', strategy: 'sft' },
  messages: { task: 'text-generation', strategy: 'sft' },
  text: { task: 'text-generation', strategy: 'sft' },
  'question-answer': { task: 'extractive-question-answering', strategy: 'sft' },
  preference: { task: 'text-generation', strategy: 'dpo' },
  'unpaired-preference': { task: 'text-generation', strategy: 'kto' },
  prompt: { task: 'text-generation', strategy: 'grpo' },
};

/** Settings of a training that decide how its model is loaded and asked. */
const keptSettings = [
  'use_chat_template',
  'thinking',
  'tool_syntax',
  'new_tokens',
  'use_4bit',
  'use_8bit',
  'bf16',
  'fp16',
] as const;

const ofSubject = ['model', 'base_model', 'checkpoint', 'as_base', 'tool_syntax'] as const;

export function createPreparation(options: PreparationOptions): Preparation {
  const { judges } = options;

  async function judge(fields: Partial<EvaluationRequest>, refused: ReadonlySet<string>, faults: Faults) {
    const { dataset } = fields;
    const found = ofSubject.some((field) => refused.has(field))
      ? null
      : await collect(faults, 'model', {}, () => findSubject(fields, options));
    const data =
      dataset === undefined
        ? null
        : await faults.of('dataset', () => judges.datasets.forTraining(dataset, null));
    const graders =
      fields.graders == null
        ? {}
        : await collect(faults, 'graders', {}, async () => options.graders.named(fields.graders ?? []));
    if (graders !== null && data !== null)
      await faults.of('graders', () => requireGradable(graders, data, fields.rows ?? scoredRows.usual));
    if (found === null || data === null || graders === null) return null;
    const training = trainings[data.shape];
    const isGradedAlone = data.shape === 'prompt';
    if (isGradedAlone && Object.keys(graders).length === 0) {
      faults.add('graders', `${data.name} has prompts without answers to compare with: name graders`);
      return null;
    }
    const { field, subject, trained } = found;
    if (trained !== null && (await isOtherHead(found, training.task, judges))) {
      const wanted = trained.task === 'extractive-question-answering' ? 'questions' : 'inputs and outputs';
      faults.add(
        'dataset',
        `${subject.name} was trained on rows of ${wanted}, and ${data.name} has rows of the shape ${data.shape}. Choose a dataset of the shape that it was trained on`,
      );
      return null;
    }
    const request = {
      ...training,
      model_name: subject.baseModel,
      merge_adapter: found.mergesAdapter,
      dataset: dataset as string,
      graders: isGradedAlone ? fields.graders : undefined,
    };
    // A base model alone is asked for its answer; a trained one in the template that it was trained in.
    const asked = { max_seq_length: -1, export: 'none', thinking: 'off' } as const;
    const { tool_syntax } = fields;
    const judged = await collect(faults, field, { model_name: field, merge_adapter: field }, () =>
      judgeRequest({ ...request, ...asked, tool_syntax }, judges),
    );
    return judged && { found, data, judged, graders };
  }

  /** The rows that a run was started with, while it is kept. */
  const trainedRows = (id: number) => join(options.jobsDir, jobName(id), 'dataset.jsonl');

  return {
    async faults(fields, refused) {
      const faults = createFaults();
      await judge(fields, refused, faults);
      return faults.issues();
    },

    async judge(request) {
      const faults = createFaults();
      const valid = await judge(request, new Set(), faults);
      faults.raise();
      if (valid === null) throw new AppError('internal', 'A request without errors was not fully validated.');
      const { found, data, judged, graders } = valid;
      const rows = Math.min(request.rows ?? scoredRows.usual, data.numExamples);
      return {
        subject: found.subject,
        dataset: data.name,
        shape: data.shape,
        rows,
        write: (id) => write(id, found, data, judged, { rows, graders }),
      };
    },
  };

  async function write(
    id: number,
    { adapter, template, trained, subject }: FoundSubject,
    data: TrainingData,
    judged: JudgedRequest,
    { rows, graders }: { readonly rows: number; readonly graders: EvaluationOrder['graders'] },
  ): Promise<Written> {
    await mkdir(options.dir, { recursive: true });
    const name = evaluationName(id);
    const cut = join(options.dir, `${name}.jsonl`);
    try {
      // Where it cannot be linked, the dataset has no version of it.
      if (data.stored) await link(data.path, join(options.dir, evaluationRowsName(id))).catch(() => {});
      const rowsDigest = await firstRows(data.path, cut, rows);
      const known =
        subject.jobId === null
          ? 0
          : await countKnownRows(cut, trainedRows(subject.jobId), rowShapes[data.shape]);
      const warning = knownRowsWarning(known, rows, Number(trained?.settings.eval_split ?? 0) > 0);
      const own = Object.fromEntries(
        keptSettings.flatMap((key) =>
          trained?.settings[key] === undefined ? [] : [[key, trained.settings[key]]],
        ),
      ) as Partial<Settings>;
      const settings = { ...judged.settings, workers: 1, ...own };
      // A file of our own, which can be linked.
      const scored = { ...data, path: cut, numExamples: rows, stored: true };
      await writeSpec(
        { ...judged, settings, data: scored, validation: null },
        { name, folder: join(options.dir, name), logsDir: null, tools: options.tools },
      );
      await writeOrder(join(options.dir, name), { adapter, template, kept_rows: keptRows, graders });
      return { rowsDigest, warnings: warning === null ? [] : [warning] };
    } finally {
      await rm(cut, { force: true });
    }
  }
}

/** Runs a check and records its errors for the fields that `names` gives those of its own. */
async function collect<T>(
  faults: Faults,
  field: string,
  names: Readonly<Record<string, string>>,
  check: () => Promise<T>,
): Promise<T | null> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'invalid' || error.issues.length === 0) {
      return faults.of(field, () => {
        throw error;
      });
    }
    for (const { loc, msg } of error.issues) {
      const own = loc.at(-1) ?? field;
      faults.add(names[own] ?? own, msg);
    }
    return null;
  }
}

/**
 * Whether a dataset needs another head of the model than the one that was trained. A decoder has one for all tasks; other
 * models either write or point at an answer.
 */
async function isOtherHead(
  { subject, trained, mergesAdapter }: FoundSubject,
  task: string,
  { sizeOf }: Judges,
): Promise<boolean> {
  const points = (name: string | undefined) => name === 'extractive-question-answering';
  if (points(trained?.task) === points(task)) return false;
  const base = await locateBase(subject.baseModel, mergesAdapter);
  const kind = (await checkBase(base)) ?? (await sizeOf(subject.baseModel, mergesAdapter)).kind;
  return !isDecoder(kind);
}

/**
 * Copies the first `count` rows of a JSONL file, with the blank lines between them, so that lines keep their numbers.
 * @returns the SHA-256 of the copy.
 */
async function firstRows(from: string, to: string, count: number): Promise<string> {
  const hash = createHash('sha256');
  async function* lines() {
    let left = count;
    for await (const { text } of readLines(from, Number.POSITIVE_INFINITY)) {
      hash.update(`${text}\n`);
      yield `${text}\n`;
      if (text.trim() !== '') left -= 1;
      if (left === 0) break;
    }
  }
  await pipeline(lines, createWriteStream(to));
  return hash.digest('hex');
}
