import { type RowShape, rowShapes } from '../../contract/rows.ts';
import type { DatasetStore } from '../../db/tables/datasets.ts';
import { AppError } from '../../errors.ts';
import { createFaults } from '../../faults.ts';
import type { NativeDuplicates } from '../../native/addon.ts';
import { findDuplicates } from '../../native/find-duplicates.ts';
import { answerFields } from '../datasets/cleaning/answer-fields.ts';
import type { Datasets } from '../datasets/datasets.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { type Judges, judgeRequest, judgeValidation } from './judge-request.ts';
import { type Previewer, sampledRows } from './previewer.ts';
import { createStoredAnalyses } from './stored-analyses.ts';
import type { TrainingRequest } from './training-request.ts';

/** What to analyse beside the rows themselves. */
export interface AnalysisWanted {
  /** The model whose tokens are counted. */
  readonly modelName: string | null;
  readonly maxSeqLength: number | null;
  /** A dataset to look for in this one. */
  readonly validationDataset: string | null;
}

/** The lengths of rows in tokens, as a training with `model` sees them. */
export interface TokenLengths {
  readonly model: string;
  readonly maxSeqLength: number;
  /** The rows that were counted, drawn at random if they are not all. */
  readonly sampledRows: number;
  /** Of `from` to `to` tokens, both included. */
  readonly bins: readonly { readonly from: number; readonly to: number; readonly count: number }[];
  readonly median: number;
  readonly p95: number;
  readonly p99: number;
  readonly longest: number;
  /** Of the counted rows, those that are longer than `maxSeqLength`. */
  readonly truncatedRows: number;
  /** The share of learned tokens of those that are trained; `null` for a model that points at answers. */
  readonly learnedShare: number | null;
}

export interface Analysis {
  readonly shape: RowShape;
  readonly lengths: TokenLengths | null;
  readonly duplicates: NativeDuplicates;
  /** The name of the validation dataset. */
  readonly overlapWith: string | null;
}

export interface DatasetAnalysis {
  /**
   * Finds duplicates, empty answers and overlap in a dataset, and the lengths of its rows.
   * @param signal ends the analysis.
   * @throws AppError `not_found`; `invalid` as a start does; `unavailable` when there are too many at once.
   */
  analyse(name: string, wanted: AnalysisWanted, signal: AbortSignal): Promise<Analysis>;
  /**
   * The tokens that each row of a dataset has for a model; `null` if it has too many rows to count them all.
   * @throws AppError as `analyse`.
   */
  rowTokens(name: string, model: string, signal: AbortSignal): Promise<readonly number[] | null>;
}

/** An analysis takes about 90 bytes of memory for each row. */
const atOnce = 2;
const retryAfterSeconds = 10;
const binCount = 24;
/** The counts of tokens that are kept, of those that were asked for last. */
const keptCounts = 4;
const rowsAlone: AnalysisWanted = { modelName: null, maxSeqLength: null, validationDataset: null };

/** What is trained on rows of a shape. */
const trained: Record<RowShape, Pick<TrainingRequest, 'task' | 'strategy' | 'graders'>> = {
  'input-output': { task: 'text-generation', strategy: 'sft' },
  messages: { task: 'text-generation', strategy: 'sft' },
  text: { task: 'text-generation', strategy: 'sft' },
  preference: { task: 'text-generation', strategy: 'dpo' },
  'unpaired-preference': { task: 'text-generation', strategy: 'kto' },
  // What grades the answers to prompts says nothing about the rows.
  prompt: {
    task: 'text-generation',
    strategy: 'grpo',
    graders: [{ grader: { type: 'hone_length', name: 'length', min: 0 } }],
  },
  'question-answer': { task: 'extractive-question-answering', strategy: 'sft' },
};

const requestOf = (
  model: string,
  dataset: string,
  shape: RowShape,
  maxSeqLength: number | null,
): TrainingRequest => ({
  ...trained[shape],
  model_name: model,
  dataset,
  max_seq_length: maxSeqLength,
  export: 'none',
});

export function createDatasetAnalysis(options: {
  readonly datasets: Datasets;
  readonly store: DatasetStore;
  readonly judges: Judges;
  readonly previewer: Previewer;
  readonly frames: FrameLog;
  readonly dataDir: string;
}): DatasetAnalysis {
  const { datasets, store, judges, previewer, frames, dataDir } = options;
  let running = 0;
  const counted = new Map<string, readonly number[]>();
  const stored = createStoredAnalyses({
    datasets,
    store,
    frames,
    dataDir,
    analyse: (name, signal) => analyse(name, rowsAlone, signal, () => {}),
  });

  async function analyse(
    name: string,
    wanted: AnalysisWanted,
    signal: AbortSignal,
    tell: (what: 'duplicates' | 'lengths', done: number, total: number) => void,
  ): Promise<Analysis> {
    const { modelName, maxSeqLength, validationDataset } = wanted;
    const data = await datasets.forTraining(datasets.get(name).name, null);
    const faults = createFaults();
    const validation =
      validationDataset === null
        ? null
        : await faults.of('validation_dataset', () =>
            judgeValidation(validationDataset, data, [data.shape], datasets),
          );
    faults.raise();
    const request = modelName === null ? null : requestOf(modelName, name, data.shape, maxSeqLength);
    // Told before the rows are read.
    if (request !== null) await judgeRequest(request, judges);
    tell('duplicates', 0, 1);
    const duplicates = await findDuplicates({
      path: data.path,
      validation: validation?.path ?? null,
      fields: rowShapes[data.shape],
      answers: answerFields[data.shape],
      onProgress: (done, total) => tell('duplicates', done, total),
      signal,
    });
    let lengths: TokenLengths | null = null;
    if (request !== null) {
      tell('lengths', 0, 1);
      const { totals, sampledRows: sampled, ...others } = await previewer.lengths(request, signal);
      tell('lengths', 1, 1);
      const { max_seq_length: length, learned_share: learnedShare } = others;
      lengths = {
        model: request.model_name,
        maxSeqLength: length,
        sampledRows: sampled,
        ...histogramOf(totals, length),
        learnedShare,
      };
    }
    return { shape: data.shape, lengths, duplicates, overlapWith: validation?.name ?? null };
  }

  return {
    async rowTokens(name, model, signal) {
      const { numExamples, validation } = datasets.get(name);
      if (numExamples > sampledRows || validation.shape === null) return null;
      const key = JSON.stringify([name, await datasets.version(name), model]);
      const known = counted.get(key);
      if (known !== undefined) return known;
      const { row_totals: tokens } = await previewer.lengths(
        requestOf(model, name, validation.shape, null),
        signal,
      );
      counted.set(key, tokens);
      for (const oldest of counted.keys()) if (counted.size > keptCounts) counted.delete(oldest);
      return tokens;
    },

    async analyse(name, wanted, signal) {
      const hasRowsAlone = wanted.modelName === null && wanted.validationDataset === null;
      const found = hasRowsAlone ? await stored.of(name) : null;
      if (found !== null) return found;
      if (running >= atOnce) {
        throw new AppError(
          'unavailable',
          `${running} datasets are being analysed, which is the most at once. Try again when one has ended.`,
          { details: { retryAfterSeconds } },
        );
      }
      running += 1;
      try {
        const work = () =>
          analyse(name, wanted, signal, (what, done, total) =>
            frames.send('analysis', null, { dataset: name, what, done, total }),
          );
        return await (hasRowsAlone ? stored.keeping(name, work) : work());
      } finally {
        running -= 1;
      }
    },
  };
}

/** The distribution of lengths, in bins of equal width. */
export function histogramOf(totals: readonly number[], maxSeqLength: number) {
  const sorted = [...totals].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const longest = at(1);
  const width = Math.max(1, Math.ceil((longest + 1) / binCount));
  const counts = new Array<number>(Math.ceil((longest + 1) / width)).fill(0);
  for (const total of sorted)
    counts[Math.floor(total / width)] = (counts[Math.floor(total / width)] ?? 0) + 1;
  return {
    bins: counts.map((count, place) => ({ from: place * width, to: (place + 1) * width - 1, count })),
    median: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    longest,
    truncatedRows: sorted.filter((total) => total > maxSeqLength).length,
  };
}
