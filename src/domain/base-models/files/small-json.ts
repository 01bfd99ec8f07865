import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** The configuration files of models have kilobytes; lists of labels can make them megabytes. */
export const maximumJsonBytes = 2 ** 24;

/** A file is not read because it is too large or no file. */
export class UnreadableFile extends Error {}

/**
 * Reads a configuration file of a model.
 * @throws UnreadableFile if it is larger than `maximumJsonBytes` or not a regular file; SyntaxError; errors of the file
 * system.
 */
export async function readSmallJson(path: string): Promise<unknown> {
  // Nonblocking, because opening a FIFO would wait for its writer.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new UnreadableFile('is not a file');
    if (facts.size > maximumJsonBytes) {
      throw new UnreadableFile(
        `has ${Math.round(facts.size / 2 ** 20)} MiB, more than the limit of ${maximumJsonBytes / 2 ** 20} MiB`,
      );
    }
    return JSON.parse(await file.readFile('utf8'));
  } finally {
    await file.close();
  }
}
