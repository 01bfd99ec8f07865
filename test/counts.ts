/** The numbers of passed and failed tests of a file. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colours begin with one
const colours = /\u001b\[[0-9;]*m/g;

/** A run with a nonzero exit code counts as a failure even if no test failed. */
const atLeastOne = (failed: number, exitCode: number) => (failed === 0 && exitCode !== 0 ? 1 : failed);

/** Parses uvu's summary; a file without a summary, or without tests, has failed. */
export function countUvu(output: string, exitCode: number): Counts {
  const text = output.replace(colours, '');
  const found = (label: string) =>
    [...text.matchAll(new RegExp(`^ *${label}: +(\\d+)`, 'gm'))].reduce((sum, [, n]) => sum + Number(n), 0);
  const total = found('Total');
  const passed = found('Passed');
  const failed = total === 0 ? 1 : total - passed;
  return { passed, failed: atLeastOne(failed, exitCode) };
}

/** Parses pytest's last line; errors during collection and in fixtures count as failures. */
export function countPytest(output: string, exitCode: number): Counts {
  const closing = output
    .replace(colours, '')
    .split('\n')
    .filter((line) => / in [\d.]+s/.test(line))
    .at(-1);
  const found = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(closing ?? '')?.[1] ?? 0);
  return { passed: found('passed'), failed: atLeastOne(found('failed') + found('error'), exitCode) };
}
