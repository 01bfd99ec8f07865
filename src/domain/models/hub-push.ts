import { AppError, asAppError } from '../../errors.ts';
import type { HubAccess } from '../../hub/access.ts';
import { type PushProgress, pushFiles } from '../../hub/push-files.ts';
import { checkPushPermission } from '../../hub/push-permission.ts';
import { openRepository } from '../../hub/push-repository.ts';
import { isHubId } from '../base-models/base-model.ts';
import type { FrameLog } from '../events/frame-log.ts';
import { contentsOf } from './hub-contents.ts';
import type { Model, Models } from './models.ts';

/** The model to push, and the target. */
export interface HubPushRequest {
  /** Digits for a flat id, a UUID otherwise. */
  readonly model: string;
  /** `owner/name`. */
  readonly repository: string;
  readonly isPrivate: boolean;
}

/** How far a push is. */
export interface PushUnderway extends PushProgress {
  readonly repository: string;
}

export interface HubPush {
  /**
   * Pushes a model's adapter, merged files, Modelfile and card. Continues if the client disconnects; progress is sent on the
   * socket.
   * @throws AppError `not_found`, `invalid` (the name, or files that are gone), `conflict` (it is being
   *   pushed, or the repository is public against the wish), `forbidden` and `upstream` as the hub answers.
   */
  push(request: HubPushRequest): Promise<{ repoUrl: string; message: string }>;
  /**
   * Cancels the push of a model and waits for its end. Uploaded files stay on the hub, so that the next push sends only
   * the rest.
   * @returns the repository, and whether the push was cancelled: false if it was already complete.
   * @throws AppError `not_found`, or `conflict` when the model is not being pushed.
   */
  cancel(reference: string): Promise<{ repository: string; cancelled: boolean }>;
  /** The push of a model that is underway, if there is one. @throws AppError `not_found`. */
  underway(reference: string): PushUnderway | null;
  /**
   * The model card that a push to the repository would have.
   * @throws AppError `not_found` or `invalid`, as a push.
   */
  card(request: Pick<HubPushRequest, 'model' | 'repository'>): Promise<string>;
  /** @throws AppError `conflict` while the model is being pushed. */
  release(model: Model): void;
}

/** Minimum interval between progress frames. */
const progressIntervalMs = 250;

export function createHubPush(options: {
  hub: HubAccess;
  frames: FrameLog;
  models: Models;
  logger: { info(fields: object, text: string): void; warn(fields: object, text: string): void };
}): HubPush {
  const { hub, frames, logger } = options;
  /** Current pushes by model UUID. */
  const pushing = new Map<
    string,
    { repository: string; controller: AbortController; ended: Promise<boolean>; progress: PushProgress }
  >();

  function refuseSecond(model: Model): void {
    const repository = pushing.get(model.modelId)?.repository;
    if (repository !== undefined) {
      throw new AppError(
        'conflict',
        `The model ${model.name} is being pushed to ${repository}. Wait until the push has finished.`,
      );
    }
  }

  async function push(model: Model, { repository, isPrivate }: HubPushRequest, signal: AbortSignal) {
    const access: HubAccess = { ...hub, signal };
    const about = { model_id: model.modelId, id: model.id, name: model.name, repo_name: repository };
    let toldAt = Number.NEGATIVE_INFINITY;
    let phase = '';
    const onProgress = (progress: PushProgress) => {
      const current = pushing.get(model.modelId);
      if (current !== undefined) current.progress = progress;
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
      const { files } = await contentsOf(options.models, model, repository, access);
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
          ? `The model ${model.name} is already up to date in ${where}.`
          : `The model ${model.name} was pushed to ${where}: ${pushed.length} of ${files.length} files were uploaded.`;
      end({ state: 'done', fraction: 1, repo_url: repoUrl, message });
      logger.info({ ...about, files: pushed.length }, 'A model was pushed to the hub');
      return { repoUrl, message };
    } catch (error) {
      if (signal.aborted) {
        const message = `The push of ${model.name} to ${repository} was cancelled. Push again to continue; files that are already there are skipped.`;
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
      const model = options.models.find(request.model);
      refuseSecond(model);
      const controller = new AbortController();
      const work = push(model, request, controller.signal).finally(() => pushing.delete(model.modelId));
      const ended = work.then(
        () => true,
        () => false,
      );
      const progress: PushProgress = { phase: 'comparing', fraction: 0 };
      pushing.set(model.modelId, { repository: request.repository, controller, ended, progress });
      return work;
    },
    async cancel(reference) {
      const model = options.models.find(reference);
      const current = pushing.get(model.modelId);
      if (current === undefined)
        throw new AppError(
          'conflict',
          `The model ${model.name} is not being pushed, so there is nothing to cancel.`,
        );
      current.controller.abort();
      return { repository: current.repository, cancelled: !(await current.ended) };
    },
    underway(reference) {
      const current = pushing.get(options.models.find(reference).modelId);
      return current === undefined ? null : { repository: current.repository, ...current.progress };
    },
    async card({ model, repository }) {
      checkName(repository);
      return (await contentsOf(options.models, options.models.find(model), repository, hub)).card;
    },
    release: refuseSecond,
  };
}

function checkName(repository: string): void {
  if (isHubId(repository)) return;
  const msg = `"${repository.slice(0, 200)}" is not the name of a repository: it must be owner/name, each of letters, digits, "-", "_" and ".", at most 96 long`;
  throw new AppError('invalid', msg, { issues: [{ loc: ['body', 'repo_name'], msg, type: 'value_error' }] });
}
