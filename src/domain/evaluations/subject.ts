import { existsSync } from 'node:fs';
import { AppError } from '../../errors.ts';
import { refusalOf } from '../../faults.ts';
import type { JobSpec } from '../../trainer/protocol.ts';
import type { Checkpoints } from '../checkpoints/checkpoints.ts';
import { displayNameOf, type Job } from '../job-record/job.ts';
import { mergesAdapter } from '../models/merged-base.ts';
import type { Models } from '../models/models.ts';
import type { EvaluationRequest } from './evaluation-request.ts';

/** What answers in an evaluation. */
export interface Subject {
  /** As people call it. */
  readonly name: string;
  readonly baseModel: string;
  /** `null` for a base model, and for the checkpoint of a run without a model. */
  readonly modelId: string | null;
  readonly jobId: number | null;
  readonly checkpoint: number | null;
}

/** A subject with what is loaded. */
export interface FoundSubject {
  readonly subject: Subject;
  /** The request's field that names it. */
  readonly field: 'model' | 'base_model';
  /** Whether its base model is an adapter that was merged first. */
  readonly mergesAdapter: boolean;
  readonly adapter: string | null;
  readonly template: string | null;
  /** The task and settings of its training; `null` for a base model. */
  readonly trained: { readonly task: string; readonly settings: Readonly<Record<string, unknown>> } | null;
}

/** Finds what a request names. @throws AppError `invalid` or `not_found`. */
export async function findSubject(
  request: Omit<Partial<EvaluationRequest>, 'dataset' | 'rows'>,
  { models, checkpoints }: { readonly models: Models; readonly checkpoints: Checkpoints },
): Promise<FoundSubject> {
  const { model: reference, base_model: base, checkpoint = null, as_base: asBase = null } = request;
  const { tool_syntax: syntax } = request;
  if ((reference == null) === (base == null)) {
    throw refusalOf('model', 'Set one of model (a fine-tuned model) and base_model');
  }
  if (checkpoint !== null && (reference == null || asBase)) {
    throw refusalOf('checkpoint', 'checkpoint needs model, and excludes as_base');
  }
  if (syntax != null && reference != null) {
    throw refusalOf(
      'tool_syntax',
      'tool_syntax needs base_model: a fine-tuned model has that of its training',
    );
  }
  if (reference == null) {
    if (asBase) throw refusalOf('as_base', 'as_base needs model');
    const baseModel = base as string;
    const name = syntax === 'hermes' ? `${baseModel}, with tools in Hermes’ syntax` : baseModel;
    const subject = { name, baseModel, modelId: null, jobId: null, checkpoint: null };
    return {
      subject,
      field: 'base_model',
      mergesAdapter: false,
      adapter: null,
      template: null,
      trained: null,
    };
  }
  if (checkpoint !== null) {
    const job = checkpoints.jobOf(reference) as Job;
    const { folder, template, model } = await checkpoints.find(job, checkpoint).catch((error) => {
      throw error instanceof AppError ? refusalOf('checkpoint', error.message) : error;
    });
    const subject = {
      name: `${displayNameOf(job)} · step ${checkpoint}`,
      baseModel: job.modelName,
      modelId: model?.modelId ?? null,
      jobId: job.id,
      checkpoint,
    };
    const { settings, model: base } = job.spec as JobSpec;
    const trained = { task: job.task, settings: settings as Readonly<Record<string, unknown>> };
    const merged = base.adapter !== undefined;
    return { subject, field: 'model', mergesAdapter: merged, adapter: folder, template, trained };
  }
  const model = models.findByName(reference);
  const template = models.fileOf(model, 'template');
  const adapter = models.fileOf(model, 'adapter');
  for (const path of [template, asBase ? template : adapter]) {
    if (path !== null && existsSync(path)) continue;
    const what = path ?? (template === null ? 'its prompt template' : 'its adapter');
    throw new AppError(
      'invalid',
      `A file of the model ${model.name} is missing: ${what}. Restore it or delete the model.`,
    );
  }
  const { displayName, name, baseModel, modelId, jobId, task, config: settings } = model;
  return {
    subject: asBase
      ? {
          name: `${baseModel}, the base of ${displayName || name}`,
          baseModel,
          modelId: null,
          jobId: null,
          checkpoint: null,
        }
      : { name: displayName || name, baseModel, modelId, jobId, checkpoint: null },
    field: 'model',
    mergesAdapter: mergesAdapter(settings),
    adapter: asBase ? null : adapter,
    template,
    trained: { task, settings },
  };
}
