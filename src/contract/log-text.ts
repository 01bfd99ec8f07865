/** Sequences that color text or move a terminal's cursor (ECMA-48, 5.4). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin with ESC
const controlSequence = /\u001b\[[0-?]*[ -/]*[@-~]/g;
/** A bar of tqdm with or without a known total, or one that is drawn with blocks or lines as pip's. */
const progressBar = /\d%\|.*\||\[\d+:\d\d(?::\d\d)?[<,].*\]|[█▏▎▍▌▋▊▉]{3}|[━╸]{8}/;

/** How much of a log's last line is quoted, in characters. */
const quotedCharacters = 500;

/** The beginning of a log's last line that is not a progress bar; empty if there is none. */
export const lastLine = (log: string): string =>
  withoutProgressBars(log).trimEnd().split('\n').at(-1)?.trim().slice(0, quotedCharacters) ?? '';

/**
 * A log as a person reads it: without progress bars, control sequences, and what a carriage return has overwritten.
 */
export function withoutProgressBars(log: string): string {
  return log
    .replace(controlSequence, '')
    .split('\n')
    .flatMap((line) => {
      const drawn = line.split('\r').filter((text) => text.trim() !== '');
      if (drawn.length === 0) return [''];
      return drawn.filter((text) => !progressBar.test(text)).slice(-1);
    })
    .join('\n');
}
