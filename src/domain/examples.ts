import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
import { type Dataset, type Datasets, validateFile } from './datasets.ts';
import { findStarter } from './starter-model.ts';

/** A small dataset that comes with Hone, for a first training. */
export interface Example {
  readonly name: string;
  readonly task: string;
  readonly strategy: string;
  readonly numExamples: number;
  /** What a model learns from it. */
  readonly sentence: string;
  /** What to train on it here: the starter model where it has been made, else the one recommended. */
  readonly modelName: string;
  /** What to set for that model, beside the recommended settings. */
  readonly settings: Readonly<Record<string, number>>;
}

export interface Examples {
  list(): Promise<Example[]>;
  /**
   * Puts an example among the datasets; a user's own dataset of that name stays as it is.
   * @throws AppError `not_found`.
   */
  use(name: string): Promise<Dataset>;
}

const known: readonly Pick<Example, 'name' | 'task' | 'strategy' | 'sentence'>[] = [
  {
    name: 'support',
    task: 'text-generation',
    strategy: 'sft',
    sentence: 'Answers a customer’s message with the team it belongs to and one fitting sentence.',
  },
  {
    name: 'summarization',
    task: 'summarization',
    strategy: 'sft',
    sentence: 'Sums up a complaint in one line: whose it is, what it is about, and whether it was solved.',
  },
  {
    name: 'question-answering',
    task: 'extractive-question-answering',
    strategy: 'sft',
    sentence: 'Finds the words of a short text that answer a question about it.',
  },
  {
    name: 'preferences',
    task: 'text-generation',
    strategy: 'dpo',
    sentence: 'Prefers a helpful reply to a rude one, from pairs of a chosen and a rejected reply.',
  },
];

/**
 * A small model made from nothing bears, and needs, a rate and a number of rounds that a grown one would not
 * survive; its steps are so quick that a chart has points enough.
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
 * @param starterDirs where a starter model may lie.
 * @param recommended the model that is recommended here for a task.
 */
export function createExamples(options: {
  dir: string;
  starterDirs: readonly string[];
  datasets: Datasets;
  recommended: (task: string) => Promise<string>;
}): Examples {
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
        const there = datasets.list().find((dataset) => dataset.name === filename);
        if (there === undefined) return datasets.upload(filename, createReadStream(pathOf(name)));
        if (await datasets.holds(filename, bytes)) return there;
      }
      return datasets.upload(`example-${name}.jsonl`, createReadStream(pathOf(name)));
    },
  };
}
