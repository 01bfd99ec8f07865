import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fetchLocal, type LocalRequest, type LocalResponse, type LocalService } from './local-service.ts';

/** What the service says against a request. */
export class Refusal extends Error {
  readonly status: number;
  /** The error in words. */
  readonly detail: string;
  /** The invalid fields by their paths in the request, if it names them. */
  readonly issues: readonly { readonly loc: readonly string[]; readonly msg: string }[];

  constructor(request: string, status: number, text: string) {
    super(`${request} answered ${status}: ${text.slice(0, 500)}`);
    this.status = status;
    const { detail, error } = read(text);
    this.issues = Array.isArray(detail) ? detail : [];
    const words = typeof detail === 'string' ? detail : (error?.message ?? text.slice(0, 500));
    this.detail = this.issues.length > 0 ? this.issues.map(({ msg }) => msg).join('\n') : words;
  }
}

/** Each API set has its own shape of errors. */
function read(text: string): { detail?: string | Refusal['issues']; error?: { message?: string } } {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Sends requests to a service. All methods throw a `Refusal` unless the status is 2xx. */
export interface Client {
  readonly service: LocalService;
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  /** A response whose body is unread. */
  open(path: string, init: LocalRequest): Promise<LocalResponse>;
  /** Uploads a dataset under a name of its own. */
  upload(file: string, name?: string): Promise<{ filename: string; num_examples: number }>;
  /** Adds a document, of which rows can be made. */
  addDocument(file: string): Promise<{ id: string; name: string; pages: number }>;
}

export function createClient(service: LocalService): Client {
  const open = async (path: string, init: LocalRequest): Promise<LocalResponse> => {
    const response = await fetchLocal(service, path, init);
    if (response.ok) return response;
    throw new Refusal(`${init.method} ${path}`, response.status, await response.text());
  };
  const ask = async <T>(path: string, init: LocalRequest) => (await open(path, init)).json() as Promise<T>;
  async function send<T>(path: string, file: string, name: string): Promise<T> {
    const form = new FormData();
    form.set('file', new Blob([await readFile(file)]), name);
    return ask(path, { method: 'POST', body: form });
  }
  return {
    service,
    open,
    get: (path) => ask(path, { method: 'GET' }),
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    upload: (file, name = basename(file)) => send('/api/upload_dataset', file, name),
    addDocument: (file) => send('/api/documents', file, basename(file)),
  };
}
