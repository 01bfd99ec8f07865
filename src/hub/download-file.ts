import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { attempts, type HubAccess, redact } from './access.ts';
import type { HubDatasetFile } from './dataset-files.ts';
import { Silence } from './hub-fetch.ts';

const redirectLimit = 5;

/**
 * The bytes of a file of a dataset on the hub. An interrupted download goes on where it was; it fails after several
 * attempts without any data. The token goes to the hub alone, and not to its storage.
 * @param signal ends the download.
 * @param from the first byte that is wanted.
 * @throws AppError `forbidden`, or `upstream` when the hub fails.
 */
export async function* hubFileBytes(
  access: HubAccess,
  repo: string,
  file: HubDatasetFile,
  signal: AbortSignal,
  from = 0,
): AsyncGenerator<Buffer> {
  if (access.offline) throw failed(access, file, 'HF_HUB_OFFLINE is set. Unset it to use the hub');
  const path = file.path.split('/').map(encodeURIComponent).join('/');
  const url = `${access.endpoint}/datasets/${repo}/resolve/${encodeURIComponent(file.revision)}/${path}`;
  let done = from;
  let failures = 0;
  while (done < file.sizeBytes) {
    signal.throwIfAborted();
    const silence = new Silence(access.patience.timeoutMs, [signal]);
    try {
      const response = await follow(access, url, done, silence);
      if (response.status === 401 || response.status === 403 || response.status === 404) {
        throw new AppError(
          'forbidden',
          `The file ${file.path} of the dataset "${repo}" is not accessible. Check that the hub token has access to it.`,
        );
      }
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      // A server without ranges sends all of it again.
      let skip = response.status === 206 ? 0 : done;
      for await (const chunk of response.body ?? []) {
        silence.heard();
        const fresh = Buffer.from(chunk).subarray(skip);
        skip -= Math.min(skip, chunk.length);
        if (fresh.length === 0) continue;
        done += fresh.length;
        failures = 0;
        yield fresh;
      }
      if (done < file.sizeBytes) throw new Error('the connection was closed too early');
    } catch (error) {
      if (error instanceof AppError) throw error;
      signal.throwIfAborted();
      failures += 1;
      const cause = (error as Error).cause as Error | undefined;
      const said = silence.fell
        ? `it did not respond for ${silence.limitMs / 1000} s`
        : cause?.message || (error as Error).message;
      if (failures >= attempts) throw failed(access, file, `${said}, ${attempts} times. Try again later`);
      await sleep(access.patience.backoffMs * 2 ** (failures - 1), undefined, { signal });
    } finally {
      silence.end();
    }
  }
  if (done > file.sizeBytes) {
    throw failed(access, file, 'it is larger than the hub said; it may have changed. Try again');
  }
}

const failed = (access: HubAccess, file: HubDatasetFile, why: string) =>
  new AppError('upstream', `${file.path} could not be downloaded from the hub: ${redact(access, why)}.`);

/** A request from byte `from` on that follows redirects to the storage. Its addresses are signed and never shown. */
async function follow(access: HubAccess, url: string, from: number, silence: Silence): Promise<Response> {
  const hub = new URL(access.endpoint);
  let next = new URL(url);
  for (let redirects = 0; redirects <= redirectLimit; redirects += 1) {
    if (!/^https?:$/.test(next.protocol) || (hub.protocol === 'https:' && next.protocol === 'http:')) {
      throw new Error('it redirects to an address that is less secure than its own');
    }
    // Compressed, ranges would mean something else.
    const headers = new Headers({ 'accept-encoding': 'identity' });
    if (from > 0) headers.set('range', `bytes=${from}-`);
    if (next.origin === hub.origin && access.token !== null)
      headers.set('authorization', `Bearer ${access.token}`);
    const response = await fetch(next, { redirect: 'manual', signal: silence.signal, headers });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(location, next)) throw new Error('it redirects to an unreadable address');
    next = new URL(location, next);
  }
  throw new Error(`it redirects more than ${redirectLimit} times`);
}
