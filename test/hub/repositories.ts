import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** A file of a revision. Large files are kept by sha256, as the hub's storage does; others by git's blob id. */
export interface StoredFile {
  readonly bytes: Buffer;
  readonly lfs: boolean;
  readonly sha256: string;
  readonly blobId: string;
}

export type Revision = ReadonlyMap<string, StoredFile>;

/** A model repository with all its revisions. */
export interface Repository {
  readonly id: string;
  isPrivate: boolean;
  gated: false | 'auto' | 'manual';
  downloads: number;
  likes: number;
  cardData: Record<string, unknown> | null;
  head: string;
  readonly revisions: Map<string, Revision>;
  /** Titles of the commits and the paths that each brought, oldest first. */
  readonly commits: { title: string; paths: string[] }[];
}

const sha = (algorithm: 'sha1' | 'sha256', ...parts: (string | Buffer)[]) => {
  const hash = createHash(algorithm);
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

export const sha256Of = (bytes: Buffer) => sha('sha256', bytes);

/** What the hub's usual .gitattributes sends to large-file storage, or what is large. */
export const isLarge = (path: string, sizeBytes: number) =>
  /\.(safetensors|gguf|bin|pt|onnx|model|zip|parquet)$/.test(path) || sizeBytes > 10 * 2 ** 20;

export const toStored = (path: string, bytes: Buffer, lfs = isLarge(path, bytes.length)): StoredFile => ({
  bytes,
  lfs,
  sha256: sha256Of(bytes),
  blobId: sha('sha1', `blob ${bytes.length}\0`, bytes),
});

export function createRepository(id: string, options: Partial<Repository> = {}): Repository {
  const repository: Repository = {
    id,
    isPrivate: false,
    gated: false,
    downloads: 0,
    likes: 0,
    cardData: null,
    head: '',
    revisions: new Map(),
    commits: [],
    ...options,
  };
  const attributes = Buffer.from('*.safetensors filter=lfs diff=lfs merge=lfs -text\n');
  commit(repository, 'initial commit', new Map([['.gitattributes', toStored('.gitattributes', attributes)]]));
  return repository;
}

/** Makes a revision of the files as they shall be. */
export function commit(repository: Repository, title: string, files: Revision, paths: string[] = []): string {
  const listing = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, { sha256 }]) => path + sha256);
  const oid = sha('sha1', repository.id, repository.head, title, ...listing);
  repository.revisions.set(oid, files);
  repository.head = oid;
  repository.commits.push({ title, paths });
  return oid;
}

/** The files of a folder, by their path in it. */
export function readFolder(folder: string): Revision {
  const files = new Map<string, StoredFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = relative(folder, file).split(sep).join('/');
    files.set(path, toStored(path, readFileSync(file)));
  }
  return files;
}

export const revisionOf = (repository: Repository, name: string): [string, Revision] | null => {
  const oid = name === 'main' || name === 'HEAD' ? repository.head : name;
  const files = repository.revisions.get(oid);
  return files === undefined ? null : [oid, files];
};

/**
 * What the hub tells of a revision's weights, from their headers (8 bytes of length, then JSON); nothing where
 * there are none, or none that can be read.
 */
export function weightsOf(files: Revision): {
  safetensors?: { parameters: Record<string, number>; total: number };
} {
  const parameters: Record<string, number> = {};
  try {
    for (const [path, { bytes }] of files) {
      if (!path.endsWith('.safetensors')) continue;
      const header = JSON.parse(bytes.toString('utf8', 8, 8 + Number(bytes.readBigUInt64LE(0))));
      delete header.__metadata__;
      for (const { dtype, shape } of Object.values<{ dtype: string; shape: number[] }>(header)) {
        parameters[dtype] = (parameters[dtype] ?? 0) + shape.reduce((a, b) => a * b, 1);
      }
    }
  } catch {
    return {};
  }
  const total = Object.values(parameters).reduce((a, b) => a + b, 0);
  return total === 0 ? {} : { safetensors: { parameters, total } };
}
