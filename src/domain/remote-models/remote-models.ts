import { join } from 'node:path';
import * as v from 'valibot';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import type { RemoteAccess, RemoteBounds } from '../../remote-model/access.ts';
import { askRemote, type RemoteAnswer } from '../../remote-model/ask-remote.ts';
import { createPrivateFile } from '../access/private-file.ts';
import { readServiceUrl } from '../access/service-url.ts';

export type { RemoteAnswer };

/** A name that stands for a model of another service, which speaks OpenAI's API. */
export interface RemoteModel {
  readonly name: string;
  /** Such as `https://api.openai.com/v1`, without a slash at its end. */
  readonly url: string;
  /** What the other service calls it. */
  readonly model: string;
  /** Whether it is asked with a key, which is never told. */
  readonly hasKey: boolean;
  readonly createdAt: string;
}

export interface RemoteModels {
  /** In the order of their names. @throws AppError `conflict` if their file cannot be read. */
  list(): RemoteModel[];
  /** `null` for other names, and where the file cannot be read. */
  find(name: string): RemoteModel | null;
  /** @throws AppError `invalid` for another URL; `conflict` for a name that is taken, or if there are too many. */
  add(model: {
    readonly name: string;
    readonly url: string;
    readonly model?: string | undefined;
    readonly key?: string | undefined;
  }): RemoteModel;
  /** @throws AppError `not_found`. */
  remove(name: string): void;
  /**
   * Asks a model, as `askRemote` does.
   * @throws AppError as it does; `too_many` when as many are asked as may be.
   */
  ask<T>(
    model: RemoteModel,
    path: string,
    body: object,
    signal: AbortSignal,
    take: (answer: RemoteAnswer) => Promise<T>,
  ): Promise<T>;
}

/** One text for each model of another service, whatever it is called here. */
export const remoteKey = ({ url, model }: RemoteModel): string => `${url} ${model}`;

/** It begins with a letter, as no ID of a model does, and can be no name of an alias, a base model or a checkpoint. */
export const remoteNamePattern = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
export const remoteNameRule =
  'must begin with a letter and have up to 64 letters, digits, dots, underscores and hyphens';
/** A key, as it can stand in a header. */
export const remoteKeyPattern = /^[\x21-\x7e]{1,4096}$/;

const kept = v.object({
  url: v.string(),
  model: v.string(),
  key: v.nullable(v.pipe(v.string(), v.regex(remoteKeyPattern))),
  created_at: v.string(),
});
type Kept = v.InferOutput<typeof kept>;

/** The file of the models with their keys, which nothing else reads and no backup copies. */
export const remoteModelsPath = (dataDir: string): string => join(dataDir, 'remote-models.json');

const mostModels = 100;

const present = (name: string, { url, model, key, created_at: createdAt }: Kept): RemoteModel => ({
  name,
  url,
  model,
  hasKey: key !== null,
  createdAt,
});

/**
 * @param isTaken whether a trained model has a name.
 * @param bounds of each answer, and of how many at once.
 */
export function createRemoteModels(
  path: string,
  isTaken: (name: string) => boolean,
  bounds: RemoteBounds & { readonly atOnce: number },
): RemoteModels {
  const file = createPrivateFile(path, kept, 'the models of other services');
  let known: Map<string, Kept> | null = null;
  let asked = 0;

  const read = (): Map<string, Kept> => {
    known ??= new Map(Object.entries(file.read()));
    return known;
  };
  function write(models: Map<string, Kept>): void {
    file.write(Object.fromEntries(models));
    known = models;
  }
  function entry(name: string): Kept {
    const found = read().get(name);
    if (found !== undefined) return found;
    throw new AppError('not_found', `There is no model "${name.slice(0, 100)}" of another service.`);
  }

  return {
    list: () => [...read()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => present(name, one)),
    find(name) {
      try {
        const found = read().get(name);
        return found === undefined ? null : present(name, found);
      } catch {
        // Other models go on answering; the list says what is wrong.
        return null;
      }
    },
    add({ name, url, model = name, key }) {
      const models = new Map(read());
      if (models.has(name))
        throw new AppError(
          'conflict',
          `There is a model "${name}" of another service already. Remove it first.`,
        );
      if (isTaken(name))
        throw new AppError('conflict', `A trained model is called ${name}. Choose another name.`);
      if (models.size >= mostModels)
        throw new AppError(
          'conflict',
          `There are ${mostModels} models of other services already: remove one.`,
        );
      if (!remoteNamePattern.test(name)) throw refusalOf('name', remoteNameRule);
      const added = {
        url: readServiceUrl(url),
        model,
        key: key ?? null,
        created_at: new Date().toISOString(),
      };
      write(models.set(name, added));
      return present(name, added);
    },
    remove(name) {
      entry(name);
      const models = new Map(read());
      models.delete(name);
      write(models);
    },
    async ask({ name }, under, body, signal, take) {
      if (asked >= bounds.atOnce)
        throw new AppError(
          'too_many',
          `${bounds.atOnce} requests to models of other services are being answered. Try again soon.`,
          { details: { retryAfterSeconds: 1 } },
        );
      const { url, key } = entry(name);
      const access: RemoteAccess = { name, url, key, bounds };
      asked += 1;
      try {
        return await askRemote(access, under, body, signal, take);
      } finally {
        asked -= 1;
      }
    },
  };
}
