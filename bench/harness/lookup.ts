import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeTinyGguf } from '../../test/native/tiny-gguf.ts';
import { runMeasured } from './measured.ts';
import { programs, root } from './places.ts';
import type { Comparison, Side } from './scenario.ts';

/** Answers that copy from their prompts: sides and a comparison of the `playground` scenario. */

/** The model says these letters in this order, again and again. */
const letters = 'QWERTYUIOPASDFGHJKLZXCVBNM1234567890cdefghijklmnopqrstuvwxyz';
/** The token of the byte 0 in the vocabulary of `writeTinyGguf`. */
const firstByte = 3;
/** Fewer than letters, so that no answer copies itself. */
const tokens = 56;
/** In the prompt every so many letters are interrupted, where a guess is wrong. */
const unbroken = 14;
const file = (dir: string) => join(dir, 'copying-Q8_0.gguf');

function following(token: number): number {
  const at = letters.indexOf(String.fromCharCode(token - firstByte));
  return token < firstByte || at < 0 ? token : firstByte + letters.charCodeAt((at + 1) % letters.length);
}

/** Writes a model of random weights, in which an embedding outweighs the layers and decides the next token. */
export function makeCopying(dir: string, { hidden, layers }: { hidden: number; layers: number }): void {
  const whole = join(dir, 'copying.gguf');
  writeTinyGguf(whole, {
    ...{ width: hidden, layers, feedForward: Math.floor((hidden * 8) / 3 / 256) * 256 },
    ...{ context: 4096, next: following },
  });
  const argv = [join(root, 'dist', 'quantize.js'), whole, file(dir), 'Q8_0'];
  execFileSync(process.execPath, argv, { stdio: ['ignore', 'ignore', 'inherit'] });
  rmSync(whole);
}

/** Each has the letters from another one on, and its answer begins after the last. */
const prompts = [0, 9, 18, 27, 36, 45].map((from) => {
  const turned = letters.slice(from) + letters.slice(0, from);
  const parts = turned.match(new RegExp(`.{1,${unbroken}}`, 'g')) as string[];
  return `${parts.join('-')}=${turned[0]}`;
});

interface Said {
  readonly rate: number;
  readonly guessed: number;
  readonly texts: readonly string[];
}
const guessing = 'guesses';
const plain = 'no guesses';

/** @param template the stored template of a scenario folder */
export function lookupSides(template: (dir: string) => string): Side[] {
  const side = (name: string, about: string, way: string): Side => ({
    name,
    about,
    trial: async ({ dir }) => {
      const argv = ['--import', 'tsx', join(programs, 'lookup.ts'), file(dir), template(dir)];
      const run = await runMeasured(process.execPath, [...argv, String(tokens), way], {
        input: JSON.stringify(prompts),
      });
      const said = JSON.parse(run.stdout) as Said;
      return { figures: { extraction: said.rate }, answer: { texts: said.texts, guessed: said.guessed } };
    },
  });
  return [
    side(guessing, "the service's engine with answers that copy from the prompt", 'guesses'),
    side(plain, 'the same engine without guesses', 'none'),
  ];
}

/** @throws unless the answers are equal, and only one side guessed. */
export function checkLookup(answers: Readonly<Record<string, unknown>>): void {
  const [ours, theirs] = [answers[guessing], answers[plain]] as [Said, Said];
  const isSame = JSON.stringify(ours.texts) === JSON.stringify(theirs.texts);
  if (!isSame || ours.guessed === 0 || theirs.guessed !== 0)
    throw new Error(`Answers with and without guesses: ${JSON.stringify([ours, theirs])}`);
}

export const lookupComparisons: Comparison[] = [
  {
    ...{ ours: guessing, metric: 'extraction', figure: 'extraction', unit: 'tokens/s', better: 'more' },
    ...{ peer: plain, goal: { times: 1.5 } },
  },
];
