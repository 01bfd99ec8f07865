import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError, asAppError } from '../errors.ts';
import type { HubAccess } from '../hub/access.ts';
import { askForRepository } from '../hub/model-info.ts';
import { type LocalFile, type PushProgress, pushFiles } from '../hub/push-files.ts';
import { checkPushPermission } from '../hub/push-permission.ts';
import { openRepository } from '../hub/push-repository.ts';
import { isHubId, locateModel } from './base-model.ts';
import type { Frames } from './frames.ts';
import { writeCard } from './hub-card.ts';
import type { Model, Models } from './models.ts';

/** Which model to push, and where to. */
export interface HubPushRequest {
  /** Digits for a flat id, a UUID otherwise. */
  readonly model: string;
  /** `owner/name`. */
  readonly repository: string;
  readonly isPrivate: boolean;
}

export interface HubPush {
  /**
   * Pushes a model's adapter, merged files, Modelfile and card; resolves when the hub has them. It goes on
   * when the caller goes away; its progress is told on the socket.
   * @throws AppError `not_found`, `invalid` (the name, or files that are gone), `conflict` (it is being
   *   pushed, or the repository is public against the wish), `forbidden` and `upstream` as the hub answers.
   */
  push(request: HubPushRequest): Promise<{ repoUrl: string; message: string }>;
  /**
   * Gives up the push of a model; resolves when it has ended. What the hub has taken stays there, so that the
   * next push sends only the rest.
   * @returns where it was pushed to, and whether it was given up: false when it was complete before.
   * @throws AppError `not_found`, or `conflict` when the model is not being pushed.
   */
  cancel(reference: string): Promise<{ repository: string; cancelled: boolean }>;
  /** Refuses to let go of a model while it is being pushed. @throws AppError `conflict`. */
  release(model: Model): void;
}

/** Progress is told at most this often. */
const progressIntervalMs = 250;
const publicHub = 'https://huggingface.co';

export function createHubPush(options: {
  hub: HubAccess;
  frames: Frames;
  models: () => Models;
  logger: { info(fields: object, text: string): void; warn(fields: object, text: string): void };
}): HubPush {
  const { hub, frames, logger } = options;
  /** What is being pushed, by the model's UUID. */
  const pushing = new Map<
    string,
    { repository: string; controller: AbortController; ended: Promise<boolean> }
  >();

  function refuseSecond(model: Model): void {
    const repository = pushing.get(model.modelId)?.repository;
    if (repository !== undefined) {
      throw new AppError(
        'conflict',
        `The model ${model.name} is being pushed to ${repository}. Wait until that has ended.`,
      );
    }
  }

  async function push(model: Model, { repository, isPrivate }: HubPushRequest, signal: AbortSignal) {
    const access: HubAccess = { ...hub, signal };
    const about = { model_id: model.modelId, id: model.id, name: model.name, repo_name: repository };
    let toldAt = Number.NEGATIVE_INFINITY;
    let phase = '';
    const onProgress = (progress: PushProgress) => {
      const now = performance.now();
      if (progress.phase === phase && now - toldAt < progressIntervalMs) return;
      toldAt = now;
      phase = progress.phase;
      frames.send('model', null, {
        action: 'push',
        ...about,
        state: progress.phase,
        fraction: progress.fraction,
      });
    };
    const end = (fields: Record<string, unknown>) =>
      frames.commit((emit) => emit('model', null, { action: 'push', ...about, ...fields }));
    try {
      await checkPushPermission(access, repository);
      const files = await filesOf(options.models(), model, repository, access);
      const opened = await openRepository(access, repository, isPrivate);
      const pushed = await pushFiles(access, repository, files, {
        title: `Push ${model.name}`.replace(/[\r\n]+/g, ' ').slice(0, 200),
        onProgress,
      });
      const repoUrl = `${hub.endpoint}/${repository}`;
      const seen = opened.isPrivate ? 'private' : 'public';
      const where = `the ${opened.existed ? 'existing' : 'new'} ${seen} repository ${repository}`;
      const message =
        pushed.length === 0
          ? `Everything of the model ${model.name} is in ${where} already.`
          : `The model ${model.name} is in ${where}: ${pushed.length} of ${files.length} files were new.`;
      end({ state: 'done', fraction: 1, repo_url: repoUrl, message });
      logger.info({ ...about, files: pushed.length }, 'A model was pushed to the hub');
      return { repoUrl, message };
    } catch (error) {
      if (signal.aborted) {
        const message = `The push of ${model.name} to ${repository} was cancelled. Push again to go on; what is there already is not uploaded again.`;
        end({ state: 'cancelled', fraction: null, message });
        logger.info(about, 'A push to the hub was cancelled');
        throw new AppError('conflict', message, { cause: error });
      }
      const { message, kind } = asAppError(error);
      end({ state: 'failed', fraction: null, error: message });
      logger.warn({ ...about, kind, error: message }, 'A push to the hub failed');
      throw error;
    }
  }

  return {
    async push(request) {
      checkName(request.repository);
      const model = options.models().find(request.model);
      refuseSecond(model);
      const controller = new AbortController();
      const work = push(model, request, controller.signal).finally(() => pushing.delete(model.modelId));
      const ended = work.then(
        () => true,
        () => false,
      );
      pushing.set(model.modelId, { repository: request.repository, controller, ended });
      return work;
    },
    async cancel(reference) {
      const model = options.models().find(reference);
      const current = pushing.get(model.modelId);
      if (current === undefined)
        throw new AppError(
          'conflict',
          `The model ${model.name} is not being pushed, so there is nothing to cancel.`,
        );
      current.controller.abort();
      return { repository: current.repository, cancelled: !(await current.ended) };
    },
    release: refuseSecond,
  };
}

function checkName(repository: string): void {
  if (isHubId(repository)) return;
  const msg = `"${repository.slice(0, 200)}" is not the name of a repository: it must be owner/name, each of letters, digits, "-", "_" and ".", at most 96 long`;
  throw new AppError('invalid', msg, { issues: [{ loc: ['body', 'repo_name'], msg, type: 'value_error' }] });
}

/** Everything of a model that is pushed, with the model card. */
async function filesOf(
  models: Models,
  model: Model,
  repository: string,
  hub: HubAccess,
): Promise<LocalFile[]> {
  const base = locateModel(model.baseModel);
  const baseName = base.path === null ? base.name : basename(base.path);
  const { files, taskType } = await adapterFiles(models, model, base.path === null ? base.name : baseName);
  const ggufs = model.artifacts.filter(({ kind }) => kind === 'gguf').map(({ path }) => path);
  for (const path of ggufs) files.push({ path: basename(path), content: { file: join(model.path, path) } });
  const modelfile = models.fileOf(model, 'modelfile');
  if (modelfile !== null) files.push({ path: 'Modelfile', content: { file: modelfile } });
  for (const { content } of files) {
    if ('file' in content && !existsSync(content.file)) throw gone(model, content.file);
  }
  const card = writeCard({
    model,
    repository,
    baseId: base.path === null ? base.name : null,
    baseName,
    license: base.path === null ? await licenseOf(hub, base.name) : null,
    taskType,
    ggufs: ggufs.map((path) => basename(path)),
    hasModelfile: modelfile !== null,
    onPublicHub: hub.endpoint === publicHub,
  });
  return [...files, { path: 'README.md', content: { text: card } }];
}

/** The adapter's files, with a configuration that names its base and no folder of this machine. */
async function adapterFiles(
  models: Models,
  model: Model,
  baseName: string,
): Promise<{ files: LocalFile[]; taskType: string | null }> {
  const folder = models.fileOf(model, 'adapter');
  if (folder === null) throw new AppError('invalid', `The model ${model.name} has no adapter to push.`);
  try {
    const files: LocalFile[] = [];
    let taskType: string | null = null;
    for (const entry of (await readdir(folder, { withFileTypes: true })).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      // PEFT's own card would take the place of ours.
      if (!entry.isFile() || entry.name === 'README.md') continue;
      const file = join(folder, entry.name);
      if (entry.name !== 'adapter_config.json') {
        files.push({ path: entry.name, content: { file } });
        continue;
      }
      const config = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
      if (typeof config.task_type === 'string') taskType = config.task_type;
      const text = `${JSON.stringify({ ...config, base_model_name_or_path: baseName }, null, 2)}\n`;
      files.push({ path: entry.name, content: { text } });
    }
    return { files, taskType };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw gone(model, folder, error);
  }
}

const gone = (model: Model, path: string, cause?: unknown) =>
  new AppError(
    'invalid',
    `A part of the model ${model.name} is gone from ${path}. Delete the model, or put it back.`,
    { cause },
  );

/** The licence of a base model; a card without it is better than no push. */
async function licenseOf(hub: HubAccess, baseModel: string): Promise<string | null> {
  try {
    return (await askForRepository(hub, baseModel))?.license ?? null;
  } catch {
    return null;
  }
}
