import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that arrived. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

/** Answers a request in place of the API; `false` to let the API answer. */
export type Trouble = (path: string, response: ServerResponse, request: IncomingMessage) => boolean;

/** A small service with the lists, pages and errors of OpenAI's API, on this machine. */
export interface OtherSide {
  readonly url: string;
  readonly arrived: Arrived[];
  readonly files: Map<string, { readonly about: Record<string, unknown>; readonly content: string }>;
  readonly jobs: Record<string, unknown>[];
  readonly checkpoints: Map<string, Record<string, unknown>[]>;
  readonly evals: Record<string, unknown>[];
  /** The runs of an eval, and the output items of a run, by its ID. */
  readonly below: Map<string, Record<string, unknown>[]>;
  trouble: Trouble;
  close(): Promise<void>;
}

const send = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

export const refuse = (response: ServerResponse, status: number, message: string) =>
  send(response, status, { error: { message, type: 'invalid_request_error', param: null, code: null } });

/** @param pageSize the most objects of a page, whatever the client asks for. */
export async function startOtherSide(key: string, pageSize = 2): Promise<OtherSide> {
  const side: Omit<OtherSide, 'url' | 'close'> = {
    arrived: [],
    files: new Map(),
    jobs: [],
    checkpoints: new Map(),
    evals: [],
    below: new Map(),
    trouble: () => false,
  };
  const page = (list: readonly Record<string, unknown>[], query: URLSearchParams) => {
    const after = query.get('after');
    const from = after === null ? 0 : list.findIndex(({ id }) => id === after) + 1;
    const data = list.slice(from, from + pageSize);
    return { object: 'list', data, has_more: from + pageSize < list.length };
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    side.arrived.push({
      method: request.method ?? '',
      path: pathname,
      authorization: request.headers.authorization,
    });
    if (side.trouble(pathname, response, request)) return;
    if (request.headers.authorization !== `Bearer ${key}`) {
      refuse(response, 401, `Incorrect API key provided: ${request.headers.authorization}.`);
      return;
    }
    const parts = pathname.split('/').slice(2).map(decodeURIComponent);
    const [first, id, last] = parts;
    if (pathname === '/v1/files') {
      send(
        response,
        200,
        page(
          [...side.files.values()].map(({ about }) => about),
          searchParams,
        ),
      );
    } else if (first === 'files') {
      const file = side.files.get(id ?? '');
      if (file === undefined) refuse(response, 404, `No such File object: ${id}`);
      else if (last === 'content') response.end(file.content);
      else send(response, 200, file.about);
    } else if (pathname === '/v1/fine_tuning/jobs') {
      send(response, 200, page(side.jobs, searchParams));
    } else if (parts[3] === 'checkpoints') {
      send(response, 200, page(side.checkpoints.get(parts[2] ?? '') ?? [], searchParams));
    } else if (first === 'evals' && parts.length === 2) {
      const found = side.evals.find((one) => one.id === id);
      if (found === undefined) refuse(response, 404, `No eval ${id}`);
      else send(response, 200, found);
    } else if (first === 'evals') {
      const list = id === undefined ? side.evals : (side.below.get(parts.at(-2) ?? '') ?? []);
      send(response, 200, page(list, searchParams));
    } else refuse(response, 404, `Unknown path ${pathname}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(side, {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

/** Adds a file of conversations. */
export function addFile(side: OtherSide, id: string, filename: string, content: string): void {
  const about = {
    id,
    object: 'file',
    bytes: Buffer.byteLength(content),
    created_at: 1_772_442_845,
    filename,
    purpose: 'fine-tune',
    status: 'processed',
  };
  side.files.set(id, { about, content });
}

/** Adds a job in the shape of the current API reference. */
export function addJob(side: OtherSide, id: string, more: Record<string, unknown> = {}): void {
  side.jobs.push({
    object: 'fine_tuning.job',
    id,
    created_at: 1_772_442_900,
    finished_at: 1_772_444_472,
    status: 'succeeded',
    model: 'gpt-4.1-mini-2025-04-14',
    fine_tuned_model: 'ft:gpt-4.1-mini-2025-04-14:acme:support:B7c2',
    organization_id: 'org-1',
    result_files: ['file-results'],
    training_file: 'file-train',
    validation_file: null,
    seed: 7,
    error: { code: null, message: null, param: null },
    method: {
      type: 'supervised',
      supervised: { hyperparameters: { n_epochs: 3, batch_size: 4, learning_rate_multiplier: 2 } },
    },
    hyperparameters: { n_epochs: 3, batch_size: 4, learning_rate_multiplier: 2 },
    ...more,
  });
}
