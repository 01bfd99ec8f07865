import { join } from 'node:path';
import { judgeKeysFile } from '../../contract/access.ts';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import { createKeptKeys } from '../access/kept-keys.ts';
import { readServiceUrl } from '../access/service-url.ts';

/** The keys of the servers that judges are asked at, each for the `base_url` of graders alone. They are written, and never told. */
export interface JudgeKeys {
  /** The URLs that have one, sorted. @throws AppError `conflict` if the file cannot be read. */
  urls(): string[];
  /** Keeps the key of a URL, for all that is judged from now on. @throws AppError `invalid` for another URL. */
  put(url: string, key: string): void;
  /** @throws AppError `not_found` if the URL has none. */
  remove(url: string): void;
}

/** The file of the keys by URL, which trainers read (trainer/grading/judge_server.py). */
export const judgeKeysPath = (dataDir: string): string => join(dataDir, judgeKeysFile);

const mostKeys = 100;

export function createJudgeKeys(path: string): JudgeKeys {
  const { read, write } = createKeptKeys(path, 'URL');
  return {
    urls: () => Object.keys(read()).sort(),
    put(given, key) {
      const url = readServiceUrl(given);
      const keys = { ...read(), [url]: key };
      if (Object.keys(keys).length > mostKeys)
        throw refusalOf('url', `There are keys of ${mostKeys} URLs already: delete one.`);
      write(keys);
    },
    remove(given) {
      const url = given.replace(/\/+$/, '');
      const { [url]: key, ...others } = read();
      if (key === undefined) throw new AppError('not_found', `There is no key for ${url}.`);
      write(others);
    },
  };
}
