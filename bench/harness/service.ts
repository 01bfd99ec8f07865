import { createInterface } from 'node:readline';
import type { startHone } from './server.ts';

type Service = Awaited<ReturnType<typeof startHone>>;

/** Resolves when the service, started with `--log-level debug`, has a warm trainer; a request for an estimate starts one. */
export const untilWarm = (server: Service): Promise<void> =>
  new Promise((resolve) => {
    createInterface({ input: server.process.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (line.includes('A trainer is warm')) resolve();
    });
  });

/** Uploads a dataset. @throws unless it is stored. */
export async function upload(
  server: Pick<Service, 'url'>,
  name: string,
  content: string | Buffer,
): Promise<void> {
  const form = new FormData();
  form.set('file', new Blob([content as BlobPart]), name);
  const answer = await fetch(`${server.url}/api/upload_dataset`, { method: 'POST', body: form });
  if (!answer.ok) throw new Error(`The upload answered ${answer.status}: ${await answer.text()}`);
}
