import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fetchLocal, type LocalService } from '../client/local-service.ts';
import type { Phase } from '../contract/jobs.ts';

/** The fields of a job that the demo uses. */
export interface JobView {
  readonly state: string;
  readonly model_id: string;
  readonly phase: Phase | null;
  readonly phase_progress: number | null;
  readonly progress: number;
  readonly message: string;
  /** Until its end, with the export. */
  readonly seconds_left: number | null;
  readonly last_metric: StepView | null;
  readonly error: { readonly message: string | null; readonly advice: string | null } | null;
}

/** The newest training step. */
export interface StepView {
  readonly step: number;
  readonly total_steps: number;
  readonly loss: number | null;
}

export interface Client {
  readonly service: LocalService;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  /** Uploads a dataset under a name of its own. */
  upload(file: string, name?: string): Promise<{ filename: string; num_examples: number }>;
}

/** Sends a request. @throws Error with the response if the status is not 2xx. */
export function createClient(service: LocalService): Client {
  const ask = async <T>(path: string, init: RequestInit): Promise<T> => {
    const response = await fetchLocal(service, path, init);
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as T;
    throw new Error(`${init.method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  };
  return {
    service,
    get: (path) => ask(path, { method: 'GET' }),
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    async upload(file, name = basename(file)) {
      const form = new FormData();
      form.set('file', new Blob([await readFile(file)]), name);
      return ask('/api/upload_dataset', { method: 'POST', body: form });
    },
  };
}
