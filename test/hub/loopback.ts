/**
 * A small hub that speaks the real one's protocol over HTTP, as far as @huggingface/hub and Python's
 * huggingface_hub use it for models and for reading datasets: information, listing, download, whoami, creation, upload by git-lfs
 * (whole or in parts, to a storage host of its own), commit. It can be told to fail in many ways.
 *
 * Alone: `node --import tsx test/hub/loopback.ts --port 0 --root DIR` serves the folders DIR/owner/name as
 * models and prints its address.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Account, may, whoami } from './accounts.ts';
import { readBody, sendError, sendJson } from './exchange.ts';
import { type Fault, misbehave } from './fault.ts';
import {
  commit,
  createRepository,
  isLarge,
  type Repository,
  readFolder,
  revisionOf,
  type StoredFile,
  toStored,
  weightsOf,
} from './repositories.ts';
import { type Seen, type Storage, sendBytes, startStorage } from './storage.ts';

export interface LoopbackHub {
  readonly url: string;
  readonly storage: Storage;
  readonly accounts: Map<string, Account>;
  readonly repositories: Map<string, Repository>;
  readonly seen: Seen[];
  readonly faults: Fault[];
  /** Files larger than this are taken in parts. */
  partBytes: number;
  /** Entries of a page of a listing. */
  pageSize: number;
  addModel(id: string, folder: string, options?: Partial<Repository>): Repository;
  /** Adds a dataset with these files; those of a branch can be added to its `revisions`. */
  addDataset(id: string, files: Readonly<Record<string, Buffer>>, options?: Partial<Repository>): Repository;
  close(): Promise<void>;
}

type Handler = (context: {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly account: Account | null;
  readonly repository: Repository;
  /** What is behind the matched part of the path. */
  readonly rest: string;
}) => unknown;

export async function startLoopbackHub(options: { port?: number } = {}): Promise<LoopbackHub> {
  const storage = await startStorage();
  const seen: Seen[] = [];
  const accounts = new Map<string, Account>();
  const repositories = new Map<string, Repository>();

  /** `null` without a token; false for one that nobody has. */
  function accountOf(request: IncomingMessage): Account | null | false {
    const { authorization } = request.headers;
    if (authorization === undefined) return null;
    return accounts.get(authorization.replace(/^Bearer /, '')) ?? false;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', hub.url);
    const path = decodeURIComponent(url.pathname);
    const { authorization, range } = request.headers;
    seen.push({
      ...{ method: request.method ?? '', path },
      ...{ authorization: authorization ?? null, range: range ?? null },
    });
    if (await misbehave(hub.faults, request, response)) return;
    const account = accountOf(request);
    if (account === false) {
      sendError(response, 401, 'Unauthorized', 'Invalid credentials in Authorization header');
      return;
    }
    if (path === '/api/whoami-v2') {
      if (account === null) sendError(response, 401, 'Unauthorized', 'Invalid username or password.');
      else sendJson(response, 200, whoami(account));
      return;
    }
    if (path === '/api/repos/create' && request.method === 'POST') {
      create(JSON.parse((await readBody(request)).toString()), account, response);
      return;
    }
    for (const [pattern, handler] of routes) {
      const [whole, id = '', rest = ''] = pattern.exec(`${request.method} ${path}`) ?? [];
      if (whole === undefined) continue;
      const repository = repositories.get(id);
      if (repository === undefined || (repository.isPrivate && !may(account, 'read', id))) {
        sendError(response, account === null ? 401 : 404, 'RepoNotFound', 'Repository not found');
        return;
      }
      await handler({ request, response, url, account, repository, rest });
      return;
    }
    sendJson(response, 404, { error: 'Sorry, we cannot find the page you are looking for.' });
  }

  function create(
    body: { name: string; organization?: string; type?: string; visibility?: string; private?: boolean },
    account: Account | null,
    response: ServerResponse,
  ) {
    const id = `${body.organization ?? account?.name}/${body.name}`;
    if (!may(account, 'write', id)) {
      const text = `You don't have the rights to create a model under the namespace "${body.organization}"`;
      return sendError(response, account === null ? 401 : 403, 'Forbidden', text);
    }
    const url = `${hub.url}/${id}`;
    if (repositories.has(id)) {
      return sendJson(response, 409, { error: 'You already created this model repo', url });
    }
    const isPrivate = body.visibility === 'private' || body.private === true;
    repositories.set(id, createRepository(id, { isPrivate }));
    sendJson(response, 200, { url, name: id, id: 'aaaaaaaaaaaaaaaaaaaaaaaa' });
  }

  const info: Handler = ({ response, url, repository, rest }) => {
    const found = revisionOf(repository, rest || 'main');
    if (found === null) return sendError(response, 404, 'RevisionNotFound', `Invalid rev id: ${rest}`);
    const all: Record<string, unknown> = {
      author: repository.id.split('/')[0],
      sha: found[0],
      lastModified: '2026-01-01T00:00:00.000Z',
      createdAt: '2026-01-01T00:00:00.000Z',
      private: repository.isPrivate,
      gated: repository.gated,
      disabled: false,
      downloads: repository.downloads,
      likes: repository.likes,
      tags: ['safetensors'],
      ...weightsOf(found[1]),
      pipeline_tag: 'text-generation',
      library_name: 'transformers',
      ...(repository.cardData === null ? {} : { cardData: repository.cardData }),
      siblings: [...found[1].keys()].map((rfilename) => ({ rfilename })),
    };
    const wanted = url.searchParams.getAll('expand');
    const fields = Object.entries(all).filter(([name]) => wanted.length === 0 || wanted.includes(name));
    sendJson(response, 200, {
      _id: 'aaaaaaaaaaaaaaaaaaaaaaaa',
      id: repository.id,
      modelId: repository.id,
      ...Object.fromEntries(fields),
    });
  };

  const isClosed = (repository: Repository, account: Account | null) =>
    repository.gated !== false && !may(account, 'read', repository.id);
  const sayGated = (response: ServerResponse, account: Account | null, { id }: Repository) =>
    sendError(
      response,
      account === null ? 401 : 403,
      'GatedRepo',
      `Access to model ${id} is restricted and you are not in the authorized list.`,
    );

  const authCheck: Handler = ({ response, repository, account }) =>
    isClosed(repository, account) ? sayGated(response, account, repository) : sendJson(response, 200, {});

  /** The revision, which may have slashes, and what follows it. */
  const splitRevision = (rest: string): [string, string[]] => {
    const branch = 'refs/convert/parquet';
    const [revision = '', ...parts] = (rest.startsWith(branch) ? rest.replace(branch, 'x') : rest).split('/');
    return [rest.startsWith(branch) ? branch : revision, parts];
  };

  const tree: Handler = ({ response, url, repository, rest }) => {
    const [revision, folder] = splitRevision(rest);
    const found = revisionOf(repository, revision);
    if (found === null) return sendError(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
    const prefix = folder.length === 0 ? '' : `${folder.join('/')}/`;
    const entries = [...found[1]]
      .filter(([path]) => path.startsWith(prefix))
      .map(([path, { bytes, lfs, sha256, blobId }]) => ({
        type: 'file',
        oid: blobId,
        size: bytes.length,
        path,
        ...(lfs ? { lfs: { oid: sha256, size: bytes.length, pointerSize: 134 } } : {}),
      }));
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const to = from + hub.pageSize;
    const next = new URL(url);
    next.searchParams.set('cursor', String(to));
    const headers: Record<string, string> = to < entries.length ? { link: `<${next.href}>; rel="next"` } : {};
    sendJson(response, 200, entries.slice(from, to), headers);
  };

  const resolve: Handler = ({ request, response, repository, account, rest }) => {
    const [revision, parts] = splitRevision(rest);
    if (isClosed(repository, account)) return sayGated(response, account, repository);
    const found = revisionOf(repository, revision);
    if (found === null) return sendError(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
    const file = found[1].get(parts.join('/'));
    if (file === undefined) return sendError(response, 404, 'EntryNotFound', 'Entry not found');
    response.setHeader('x-repo-commit', found[0]);
    if (!file.lfs) {
      response.setHeader('etag', `"${file.blobId}"`);
      return sendBytes(request, response, file.bytes);
    }
    storage.objects.set(file.sha256, file.bytes);
    response.writeHead(302, {
      location: `${storage.url}/${file.sha256}?signature=secret`,
      'x-linked-etag': `"${file.sha256}"`,
      'x-linked-size': file.bytes.length,
    });
    response.end();
  };

  /** A handler of what needs the right to write. */
  const writing =
    (handler: (context: Parameters<Handler>[0], body: Buffer) => unknown): Handler =>
    async (context) => {
      const body = await readBody(context.request);
      if (may(context.account, 'write', context.repository.id)) return handler(context, body);
      return sendError(
        context.response,
        403,
        'Forbidden',
        'You have read access but not the required write access',
      );
    };

  const preupload = writing(({ response }, body) => {
    const { files } = JSON.parse(body.toString()) as { files: { path: string; size: number }[] };
    sendJson(response, 200, {
      files: files.map(({ path, size }) => ({
        path,
        uploadMode: isLarge(path, size) ? 'lfs' : 'regular',
        shouldIgnore: false,
      })),
    });
  });

  const batch = writing(({ response, repository }, body) => {
    const { objects, transfers = ['basic'] } = JSON.parse(body.toString()) as {
      objects: { oid: string; size: number }[];
      transfers?: string[];
    };
    const parts = transfers.includes('multipart') && objects.some(({ size }) => size > hub.partBytes);
    sendJson(response, 200, {
      transfer: parts ? 'multipart' : 'basic',
      objects: objects.map(({ oid, size }) => ({
        oid,
        size,
        ...(storage.objects.get(oid)?.length === size
          ? {}
          : {
              actions: {
                upload: storage.uploadAction(oid, size, parts ? hub.partBytes : Number.POSITIVE_INFINITY),
                verify: { href: `${hub.url}/${repository.id}.git/info/lfs/objects/verify` },
              },
            }),
      })),
    });
  });

  const verify = writing(({ response }, body) => {
    const { oid, size } = JSON.parse(body.toString()) as { oid: string; size: number };
    sendJson(response, storage.objects.get(oid)?.length === size ? 200 : 404, {});
  });

  const makeCommit = writing(({ response, repository }, body) => {
    const files = new Map<string, StoredFile>(revisionOf(repository, 'main')?.[1]);
    const paths: string[] = [];
    let title = '';
    for (const line of body.toString().split('\n').filter(Boolean)) {
      const { key, value } = JSON.parse(line);
      if (key === 'header') title = value.summary;
      else if (key === 'deletedFile') files.delete(value.path);
      else if (key === 'file') {
        files.set(value.path, toStored(value.path, Buffer.from(value.content, value.encoding), false));
        paths.push(value.path);
      } else if (key === 'lfsFile') {
        const bytes = storage.objects.get(value.oid);
        if (bytes === undefined) {
          return sendJson(response, 400, {
            error: `LFS pointer pointed to a file that does not exist: ${value.path}`,
          });
        }
        files.set(value.path, toStored(value.path, bytes, true));
        paths.push(value.path);
      }
    }
    const oid = commit(repository, title, files, paths);
    const commitUrl = `${hub.url}/${repository.id}/commit/${oid}`;
    sendJson(response, 200, { success: true, commitOid: oid, commitUrl, hookOutput: '' });
  });

  const id = '([^/]+/[^/]+)';
  const routes: readonly (readonly [RegExp, Handler])[] = [
    [new RegExp(`^GET /api/models/${id}$`), info],
    [new RegExp(`^GET /api/models/${id}/revision/(.+)$`), info],
    [/^GET \/api\/(datasets\/[^/]+\/[^/]+)$/, info],
    [/^GET \/api\/(datasets\/[^/]+\/[^/]+)\/auth-check$/, authCheck],
    [/^GET \/api\/(datasets\/[^/]+\/[^/]+)\/tree\/(.+)$/, tree],
    [/^(?:GET|HEAD) \/(datasets\/[^/]+\/[^/]+)\/resolve\/(.+)$/, resolve],
    [new RegExp(`^GET /api/models/${id}/auth-check$`), authCheck],
    [new RegExp(`^GET /api/models/${id}/tree/(.+)$`), tree],
    [new RegExp(`^POST /api/models/${id}/preupload/`), preupload],
    [new RegExp(`^POST /api/models/${id}/commit/`), makeCommit],
    [new RegExp(`^POST /${id}\\.git/info/lfs/objects/batch$`), batch],
    [new RegExp(`^POST /${id}\\.git/info/lfs/objects/verify$`), verify],
    [new RegExp(`^(?:GET|HEAD) /${id}/resolve/(.+)$`), resolve],
  ];

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      if (!response.headersSent) sendJson(response, 500, { error: String(error) });
      else response.destroy();
    });
  });
  await new Promise<void>((done) => server.listen(options.port ?? 0, '127.0.0.1', done));
  const hub: LoopbackHub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    storage,
    accounts,
    repositories,
    seen,
    faults: [],
    partBytes: 5 * 2 ** 30,
    pageSize: 1000,
    addModel(name, folder, changes = {}) {
      const repository = createRepository(name, changes);
      const files = new Map([...(revisionOf(repository, 'main')?.[1] ?? []), ...readFolder(folder)]);
      commit(repository, 'Upload', files);
      repositories.set(name, repository);
      return repository;
    },
    addDataset(name, files, changes = {}) {
      const repository = createRepository(`datasets/${name}`, changes);
      const stored = Object.entries(files).map(([path, bytes]) => [path, toStored(path, bytes)] as const);
      commit(repository, 'Upload', new Map(stored));
      repositories.set(repository.id, repository);
      return repository;
    },
    close: async () => {
      await new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      });
      await storage.close();
    },
  };
  return hub;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '0' }, root: { type: 'string' } },
  });
  const hub = await startLoopbackHub({ port: Number(values.port) });
  hub.accounts.set('hf_test', { name: 'tester', role: 'write' });
  const root = values.root;
  if (root !== undefined) {
    for (const owner of existsSync(root) ? readdirSync(root) : []) {
      for (const name of readdirSync(join(root, owner)))
        hub.addModel(`${owner}/${name}`, join(root, owner, name));
    }
  }
  process.stdout.write(`${hub.url}\n`);
}
