import type { Config } from '../config.ts';
import { createJudgeKeys, judgeKeysPath } from '../domain/graders/judge-keys.ts';
import { AppError } from '../errors.ts';
import { readSecret } from './read-secret.ts';

const usage = 'Use "hone judge-key add URL", "hone judge-key list" or "hone judge-key remove URL".';

/**
 * `hone judge-key`: adds, lists and removes keys of judges on other servers, beside a running service or without one.
 * @throws AppError `invalid` for another command, or as the domain does.
 */
export async function runJudgeKeyCommand({ dataDir, operands }: Config): Promise<void> {
  const [action, url, ...rest] = operands;
  const keys = createJudgeKeys(judgeKeysPath(dataDir));
  if (action === 'list' && url === undefined) {
    process.stdout.write(
      keys
        .urls()
        .map((one) => `${one}\n`)
        .join(''),
    );
  } else if (action === 'add' && url !== undefined && rest.length === 0) {
    const key = await readSecret(`Key of ${url} (not shown): `);
    if (!/^[\x21-\x7e]+$/.test(key)) throw new AppError('invalid', 'No key: type it, or pipe it in.');
    keys.put(url, key);
    process.stderr.write(`hone: kept the key of ${url}.\n`);
  } else if (action === 'remove' && url !== undefined && rest.length === 0) {
    keys.remove(url);
    process.stderr.write(`hone: removed the key of ${url}.\n`);
  } else {
    throw new AppError('invalid', usage);
  }
}
