import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bandwidthComparison, bandwidthSide, weightsRead } from './harness/bandwidth.ts';
import { makeInputs } from './harness/inputs.ts';
import { checkLookup, lookupComparisons, lookupSides, makeCopying } from './harness/lookup.ts';
import { runMeasured } from './harness/measured.ts';
import { missingPython, programs, python, pythonVersion, root } from './harness/places.ts';
import type { Scenario, Size } from './harness/scenario.ts';
import { startServer } from './harness/server.ts';
import { checkServing, servingComparisons, servingSides } from './harness/serving.ts';

/*
 * A Llama architecture with random weights, quantized to Q4_0. `second turn`: time to the first token of a second
 * question after a long first one whose tokens are cached, compared with the same conversation without a cache.
 * `decode`: tokens per second of one answer, compared with transformers' generate in bfloat16. `beside a training`: the
 * same while a training uses every core, compared with node-llama-cpp and its own thread count. In F16: what share of the
 * memory's bandwidth decoding takes (harness/bandwidth.ts). In Q8_0, as a training exports it unless told otherwise: several
 * requests at once (harness/serving.ts), and answers that copy (harness/lookup.ts).
 */

/** `large` is the width of the model whose weights are read at F16: each token of it needs far more time than sampling. */
const shapes: Record<
  Size,
  { hidden: number; large: number; layers: number; words: number; tokens: number; mostMs: number }
> = {
  full: { hidden: 768, large: 1536, layers: 16, words: 1400, tokens: 256, mostMs: 10_000 },
  quick: { hidden: 512, large: 1024, layers: 8, words: 1400, tokens: 96, mostMs: 2_000 },
  test: { hidden: 256, large: 384, layers: 2, words: 100, tokens: 6, mostMs: 20_000 },
};
const f16 = (dir: string) => join(dir, 'model.gguf');
const largeDir = (dir: string) => join(dir, 'large');
const large = (dir: string) => f16(largeDir(dir));
const quantized = (type: 'Q4_0' | 'Q8_0') => (dir: string) => join(dir, `model-${type}.gguf`);
const [q4, q8] = [quantized('Q4_0'), quantized('Q8_0')];
const template = (dir: string) => join(dir, 'template.json');

interface Said {
  readonly text: string;
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly timeToFirstTokenMs: number;
  readonly durationMs: number;
}

const user = (content: string) => ({ role: 'user', content });
const short = [user('My parcel has not come.')];
/** A long question with its answer, and a second, short question. */
function conversation(size: Size) {
  const words = 'my parcel has not come and the box of order 482 was broken when I looked at it'.split(' ');
  const long = Array.from({ length: shapes[size].words }, (_, at) => words[(at * 7) % words.length]).join(
    ' ',
  );
  const first = [user(long)];
  return { first, second: [...first, { role: 'assistant', content: 'team: shipping' }, user('And now?')] };
}

async function play(
  dir: string,
  size: Size,
  conversations: unknown[],
  { model = q4(dir), training = '' } = {},
): Promise<Said[]> {
  const argv = ['--import', 'tsx', join(programs, 'playground.ts'), model, template(dir)];
  const { stdout } = await runMeasured(process.execPath, [...argv, String(shapes[size].tokens), training], {
    input: JSON.stringify(conversations),
  });
  return JSON.parse(stdout);
}

const rateOf = (said: Said) =>
  ((said.generatedTokens - 1) / (said.durationMs - said.timeToFirstTokenMs)) * 1000;

/** Runs `work` while a process trains with its default thread count. */
async function besideTraining<T>(size: Size, work: () => Promise<T>): Promise<T> {
  if (size === 'test') return work();
  // The same environment as for a trainer of the service.
  const env = { OMP_WAIT_POLICY: 'passive' };
  const training = await startServer({
    command: python,
    args: [join(programs, 'playground_training.py')],
    env,
  });
  try {
    return await work();
  } finally {
    await training.end('SIGKILL');
  }
}

/** The prompt of the short conversation as rendered by the stored template (ChatML). */
const rendered = '<|im_start|>user\nMy parcel has not come.<|im_end|>\n<|im_start|>assistant\n';

export const scenario: Scenario = {
  name: 'playground',
  about: 'answers of a model: the second turn, decoding, decoding during a training, and several at once',
  runs: { full: 3, quick: 1 },
  warmUps: { full: 0, quick: 0 },
  prepare: async ({ dir, size }) => {
    const { hidden, large, layers } = shapes[size];
    const inputs = (width: number, folder: string) =>
      makeInputs('playground_inputs.py', [String(width), String(layers)], { dir: folder, size });
    await inputs(hidden, dir);
    mkdirSync(largeDir(dir));
    await inputs(large, largeDir(dir));
    for (const type of ['Q4_0', 'Q8_0'] as const) {
      const argv = [join(root, 'dist', 'quantize.js'), f16(dir), quantized(type)(dir), type];
      execFileSync(process.execPath, argv, { stdio: ['ignore', 'ignore', 'inherit'] });
    }
    makeCopying(dir, { hidden, layers });
  },
  sides: [
    {
      name: 'hone',
      about: "the service's engine",
      trial: async ({ dir, size }) => {
        const { first, second } = conversation(size);
        const [answer, , cached] = (await play(dir, size, [short, first, second])) as [Said, Said, Said];
        const [busy] = (await besideTraining(size, () =>
          play(dir, size, [short], { training: 'training' }),
        )) as [Said];
        const [whole] = (await play(dir, size, [short], { model: large(dir) })) as [Said];
        const read = weightsRead(large(dir), rateOf(whole));
        return {
          figures: { turn: cached.timeToFirstTokenMs, decode: rateOf(answer), busy: rateOf(busy), read },
          answer: { second: cached.text, text: answer.text, busy: busy.text, prompt: answer.promptTokens },
        };
      },
    },
    {
      name: 'no cache',
      about: 'the same engine without the cached conversation',
      trial: async ({ dir, size }) => {
        const [said] = (await play(dir, size, [conversation(size).second])) as [Said];
        return { figures: { turn: said.timeToFirstTokenMs }, answer: { second: said.text } };
      },
    },
    {
      name: 'transformers',
      about: async () =>
        `generate of transformers ${await pythonVersion('transformers')}, bfloat16, torch ${await pythonVersion('torch')}`,
      missing: () => missingPython('transformers', 'torch'),
      trial: async ({ dir, size }) => {
        const argv = [
          join(programs, 'playground_transformers.py'),
          join(dir, 'base'),
          String(shapes[size].tokens),
        ];
        const { stdout } = await runMeasured(python, argv, { input: JSON.stringify(short) });
        const { rate, prompt } = JSON.parse(stdout);
        return { figures: { decode: rate }, answer: { prompt } };
      },
    },
    {
      name: 'node-llama-cpp',
      about: () => {
        const file = join(root, 'node_modules', 'node-llama-cpp', 'package.json');
        return `node-llama-cpp ${JSON.parse(readFileSync(file, 'utf8')).version} with its default threads`;
      },
      trial: async ({ dir, size }) => {
        const { tokens, mostMs } = shapes[size];
        const argv = [
          '--import',
          'tsx',
          join(programs, 'playground_plain.ts'),
          q4(dir),
          String(tokens),
          String(mostMs),
        ];
        const run = await besideTraining(size, () =>
          runMeasured(process.execPath, argv, { input: rendered }),
        );
        const { rate, text } = JSON.parse(run.stdout);
        return { figures: { busy: rate }, answer: { beginning: text } };
      },
    },
    bandwidthSide(large),
    ...servingSides(q8, template, (size) => shapes[size].tokens),
    ...lookupSides(template),
  ],
  check: (answers) => {
    checkServing(answers);
    checkLookup(answers);
    const { hone, transformers } = answers as Record<string, Record<string, unknown>>;
    const { beginning } = answers['node-llama-cpp'] as { beginning: string };
    const { second } = answers['no cache'] as { second: string };
    const same = (what: string, ours: unknown, theirs: unknown) => {
      if (ours !== theirs) throw new Error(`${what}: ${JSON.stringify(ours)} and ${JSON.stringify(theirs)}`);
    };
    // Evaluating a prompt in different batches changes the last bits of sums, and random weights produce near ties, so
    // later characters may legitimately differ. Only one side shows an incomplete character at the end.
    const start = (text: unknown) => [...String(text).replace(/\ufffd+$/, '')].slice(0, 3).join('');
    same('The second turn, with and without the cache', start(hone?.second), start(second));
    same('The answer with and without a training', start(hone?.busy), start(hone?.text));
    const length = start(beginning).length;
    same('The answer, and that of node-llama-cpp', start(hone?.text).slice(0, length), start(beginning));
    if (transformers !== undefined) same("The prompt's tokens", hone?.prompt, transformers.prompt);
  },
  comparisons: [
    {
      metric: "second turn's first token",
      figure: 'turn',
      unit: 'ms',
      better: 'less',
      peer: 'no cache',
      goal: { share: 1 / 15 },
    },
    {
      metric: 'decode',
      figure: 'decode',
      unit: 'tokens/s',
      better: 'more',
      peer: 'transformers',
      goal: { times: 4 },
    },
    {
      metric: 'decode during a training',
      figure: 'busy',
      unit: 'tokens/s',
      better: 'more',
      peer: 'node-llama-cpp',
      goal: { times: 20 },
    },
    bandwidthComparison,
    ...servingComparisons,
    ...lookupComparisons,
  ],
};
