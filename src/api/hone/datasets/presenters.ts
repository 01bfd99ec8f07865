import type { Dataset } from '../../../domain/datasets/dataset.ts';
import type { ExampleDataset } from '../../../domain/datasets/example-datasets.ts';
import type { ImportNote } from '../../../domain/datasets/files/import-note.ts';
import type { RowPage } from '../../../domain/datasets/rows/pages/row-page.ts';
import type { DatasetVersion } from '../../../domain/datasets/versions/dataset-versions.ts';
import type { Analysis } from '../../../domain/training/dataset-analysis.ts';

/** A stored dataset without its rows. */
export const presentStored = ({ name, numExamples, sizeBytes, uploadedAt, formerNames }: Dataset) => ({
  filename: name,
  num_examples: numExamples,
  size_mb: Math.round(sizeBytes / 1e3) / 1e3,
  uploaded_at: uploadedAt,
  former_names: [...formerNames],
});

export function presentAnalysis({ shape, lengths, duplicates: found, overlapWith }: Analysis) {
  const pairOf = ({ lines, similarity, texts }: Analysis['duplicates']['pairs'][number]) => ({
    lines: [...lines],
    similarity: Math.round(similarity * 1e4) / 1e4,
    texts: [...texts],
  });
  return {
    rows: found.rows,
    shape,
    lengths: lengths && {
      model: lengths.model,
      max_seq_length: lengths.maxSeqLength,
      sampled_rows: lengths.sampledRows,
      bins: [...lengths.bins],
      median: lengths.median,
      p95: lengths.p95,
      p99: lengths.p99,
      longest: lengths.longest,
      truncated_rows: lengths.truncatedRows,
      learned_share: lengths.learnedShare,
    },
    exact_duplicates: {
      rows: found.exact,
      groups: found.groups.map(({ lines, text }) => ({ lines: [...lines], text })),
    },
    near_duplicates: { rows: found.near, compared_rows: found.comparedRows, pairs: found.pairs.map(pairOf) },
    overlap:
      overlapWith === null
        ? null
        : {
            dataset: overlapWith,
            exact: found.overlapExact,
            near: found.overlapNear,
            examples: [
              ...found.overlapGroups.map(({ lines, text }) => ({
                lines: [...lines],
                similarity: 1,
                texts: [text, text],
              })),
              ...found.overlapPairs.map(pairOf),
            ],
          },
    empty_answers: { rows: found.empty, lines: [...found.emptyLines] },
    padded_texts: { rows: found.padded, lines: [...found.paddedLines] },
  };
}

const presentValidation = ({ validation: { valid, shape, errors, totalErrors } }: Dataset) => ({
  valid,
  shape,
  errors: [...errors],
  total_errors: totalErrors,
});

export const presentEdited = (dataset: Dataset, version: string) => ({
  ...presentStored(dataset),
  validation: presentValidation(dataset),
  version,
});

export function presentDatasetDetail(
  dataset: Dataset,
  { rows, cut, flagged, lines, lengths, next, total, version }: RowPage & { readonly version: string },
  facts: {
    warnings: readonly string[];
    convertible: string | null;
    import: ImportNote | null;
    length_unit: 'tokens' | 'characters' | null;
  },
) {
  return {
    ...presentEdited(dataset, version),
    ...facts,
    rows,
    cut_rows: cut,
    flagged_rows: flagged,
    lines,
    lengths,
    next_from: next,
    total,
  };
}

export const presentVersion = ({ sha256, isNow, createdAt, rows, sizeBytes, usedBy }: DatasetVersion) => ({
  sha256,
  current: isNow,
  created_at: createdAt,
  num_examples: rows,
  size_mb: Math.round(sizeBytes / 1e3) / 1e3,
  used_by: [...usedBy],
});

export function presentExample(example: ExampleDataset) {
  const { name, task, strategy, numExamples, sentence, modelName, settings } = example;
  return { name, task, strategy, num_examples: numExamples, sentence, model_name: modelName, settings };
}
