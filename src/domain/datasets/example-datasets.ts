import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import type { Dataset } from './dataset.ts';
import type { Datasets } from './datasets.ts';
import { filePieces } from './files/file-pieces.ts';
import { validateFile } from './rows/validate-file.ts';
import { findStarter } from './starter-model.ts';

/** A small built-in dataset for a first training. */
export interface ExampleDataset {
  readonly name: string;
  readonly task: string;
  readonly strategy: string;
  readonly numExamples: number;
  /** A description of what a model learns. */
  readonly sentence: string;
  /** The model to train: the starter model if it exists, else the recommended one. */
  readonly modelName: string;
  /** Settings for that model, in addition to the recommended ones. */
  readonly settings: Readonly<Record<string, number>>;
}

export interface ExampleDatasets {
  list(): Promise<ExampleDataset[]>;
  /**
   * Adds an example to the datasets; an existing dataset of that name is kept.
   * @throws AppError `not_found`.
   */
  use(name: string): Promise<Dataset>;
}

const known: readonly Pick<ExampleDataset, 'name' | 'task' | 'strategy' | 'sentence'>[] = [
  {
    name: 'support',
    task: 'text-generation',
    strategy: 'sft',
    sentence: 'Answers customer messages with the responsible team and a one-line reply.',
  },
  {
    name: 'summarization',
    task: 'summarization',
    strategy: 'sft',
    sentence: 'Summarizes a complaint in one line: the customer, the issue and the outcome.',
  },
  {
    name: 'question-answering',
    task: 'extractive-question-answering',
    strategy: 'sft',
    sentence: 'Answers questions with a passage from a short text.',
  },
  {
    name: 'preferences',
    task: 'text-generation',
    strategy: 'dpo',
    sentence: 'Learns to prefer helpful replies from pairs of chosen and rejected replies.',
  },
];

/**
 * A small model trained from scratch needs a higher learning rate and more epochs than a pretrained one.
 */
const starterSettings = {
  num_train_epochs: 6,
  per_device_train_batch_size: 8,
  gradient_accumulation_steps: 1,
  learning_rate: 3e-3,
  max_seq_length: 256,
  eval_split: 0.1,
};

/**
 * @param dir the folder with the examples' files.
 * @param starterDirs possible folders of a starter model.
 * @param recommended the model that is recommended here for a task.
 */
export function createExampleDatasets(options: {
  dir: string;
  starterDirs: readonly string[];
  datasets: Datasets;
  recommended: (task: string) => Promise<string>;
}): ExampleDatasets {
  const { dir, datasets } = options;
  const counts = new Map<string, Promise<number>>();
  const pathOf = (name: string) => join(dir, `${name}.jsonl`);
  const present = () => known.filter(({ name }) => existsSync(pathOf(name)));

  const countOf = (name: string): Promise<number> => {
    const counted =
      counts.get(name) ?? validateFile(pathOf(name), null).then(({ numExamples }) => numExamples);
    counts.set(name, counted);
    return counted;
  };

  return {
    async list() {
      const starter = await findStarter(options.starterDirs);
      return Promise.all(
        present().map(async (example) => ({
          ...example,
          numExamples: await countOf(example.name),
          modelName: starter ?? (await options.recommended(example.task)),
          settings: starter === null ? {} : starterSettings,
        })),
      );
    },

    async use(name) {
      if (!present().some((example) => example.name === name))
        throw new AppError('not_found', `There is no example "${name.slice(0, 200)}".`);
      const bytes = await readFile(pathOf(name));
      for (const filename of [`${name}.jsonl`, `example-${name}.jsonl`]) {
        const there = datasets.find(filename);
        if (there === null) return datasets.upload(filename, filePieces(pathOf(name)));
        if (await datasets.holds(filename, bytes)) return there;
      }
      return datasets.upload(`example-${name}.jsonl`, filePieces(pathOf(name)));
    },
  };
}
