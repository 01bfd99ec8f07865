import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { threadsFor } from '../../src/inference/worker/threads.ts';
import { runMeasured } from './measured.ts';
import { programs } from './places.ts';
import type { Comparison, Side, Size } from './scenario.ts';

/** Several requests to one model: sides and comparisons of the `playground` scenario, which makes the model. */

interface Served {
  readonly rate: number;
  readonly first: number;
  readonly texts: readonly string[];
  readonly promptTokens: number;
}

const requests = 8;
const words = 'my parcel has not come and the box of order 482 was broken when I looked at it'.split(' ');
/** 2,000 words are 3,666 tokens of the scenario's tokenizer. */
const longWords: Record<Size, number> = { full: 2000, quick: 2000, test: 100 };
const input = (size: Size) =>
  JSON.stringify({
    prompts: Array.from({ length: requests }, (_, at) => `The parcel ${'abcdefgh'[at]} has`),
    long: Array.from({ length: longWords[size] }, (_, at) => words[(at * 7) % words.length]).join(' '),
    short: 'My order?',
  });

const together = 'together';
const apart = 'one after the other';
const library = 'its batching';

/**
 * @param model the file of a scenario folder's model
 * @param tokens of each answer
 */
export function servingSides(
  model: (dir: string) => string,
  template: (dir: string) => string,
  tokens: (size: Size) => number,
): Side[] {
  const side = (name: string, about: string, way: string): Side => ({
    name,
    about,
    trial: async ({ dir, size }) => {
      const argv = ['--import', 'tsx', join(programs, 'serving.ts'), model(dir), template(dir)];
      const options = { input: input(size) };
      const run = await runMeasured(process.execPath, [...argv, String(tokens(size)), way], options);
      const { rate, first, texts, promptTokens } = JSON.parse(run.stdout) as Served;
      return { figures: { eight: rate, first }, answer: { texts, promptTokens } };
    },
  });
  return [
    side(together, "the service's engine, eight requests at once", 'together'),
    side(apart, 'the same engine, each request after the one before', 'apart'),
    {
      name: library,
      about: "node-llama-cpp's own batching of eight sequences with the engine's thread count",
      trial: async ({ dir, size }) => {
        const { size: bytes } = statSync(model(dir));
        const threads = threadsFor({
          ...{ bytes, tokens: requests, cores: availableParallelism(), trainingActive: false },
        });
        const argv = ['--import', 'tsx', join(programs, 'serving_plain.ts'), model(dir)];
        const options = { input: input(size) };
        const run = await runMeasured(
          process.execPath,
          [...argv, String(tokens(size)), String(threads)],
          options,
        );
        return { figures: { eight: JSON.parse(run.stdout).rate }, answer: null };
      },
    },
  ];
}

/** @throws unless most answers begin equally; random weights produce near ties, so that a few may differ. */
export function checkServing(answers: Readonly<Record<string, unknown>>): void {
  const [ours, theirs] = [answers[together], answers[apart]] as [Served, Served];
  const start = (text = '') => [...text].slice(0, 2).join('');
  const same = ours.texts.filter((text, index) => start(text) === start(theirs.texts[index])).length;
  if (same < 6 || ours.promptTokens !== theirs.promptTokens) {
    throw new Error(`Only ${same} of 8 answers begin as alone: ${JSON.stringify([ours, theirs])}`);
  }
}

export const servingComparisons: Comparison[] = [
  {
    ...{
      ours: together,
      metric: 'eight requests at once',
      figure: 'eight',
      unit: 'tokens/s',
      better: 'more',
    },
    ...{ peer: apart, goal: { times: 2.5 } },
  },
  {
    ...{
      ours: together,
      metric: 'eight requests at once',
      figure: 'eight',
      unit: 'tokens/s',
      better: 'more',
    },
    ...{ peer: library, goal: { times: 0.9 } },
  },
  {
    ...{
      ours: together,
      metric: "a short prompt's first token beside a long one",
      figure: 'first',
      unit: 'ms',
    },
    ...{ better: 'less', peer: apart, goal: { share: 0.3 } },
  },
];
