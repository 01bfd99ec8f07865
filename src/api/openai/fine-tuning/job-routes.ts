import type { JobRequest } from '../../../domain/fine-tuning/job-request.ts';
import type { GraderDefinition } from '../../../domain/graders/grader-definition.ts';
import type { Services } from '../../../domain/services.ts';
import { AppError } from '../../../errors.ts';
import type { Exchange } from '../../../http/exchange.ts';
import { type ResponseDoc, route } from '../../../http/route.ts';
import { badCursor, pageOf } from '../page.ts';
import * as s from '../schemas.ts';
import { numberIn, presentCheckpoint, presentEvent, presentFineTuningJob } from './job-presenters.ts';
import * as j from './job-schemas.ts';

const tag = 'openai';
const refused: ResponseDoc = { description: 'Invalid request', schema: s.error };
const noJob: ResponseDoc = { description: 'Job not found', schema: s.error };
const path = '/v1/fine_tuning/jobs/{job_id}' as const;

function missing(id: string): AppError {
  const msg = `Could not find fine tune: ${id.slice(0, 100)}`;
  return new AppError('not_found', msg, {
    issues: [{ loc: ['path', 'fine_tune_id'], msg, type: 'value_error' }],
    details: { code: 'fine_tune_not_found' },
  });
}

/** The number of a job, and its 404 in OpenAI's words. */
function withJob<T>(id: string, use: (number: number) => T): T {
  const number = numberIn(id, 'ftjob-');
  if (number === null) throw missing(id);
  const rename = (error: unknown) =>
    error instanceof AppError && error.kind === 'not_found' ? missing(id) : error;
  try {
    const result = use(number);
    return result instanceof Promise ? (result.catch((error) => Promise.reject(rename(error))) as T) : result;
  } catch (error) {
    throw rename(error);
  }
}

/** The pairs of `metadata[KEY]=VALUE`; `null` for jobs without any. */
function metadataIn(query: Readonly<Record<string, unknown>>): Record<string, string> | null {
  if (query.metadata === 'null') return null;
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const key = /^metadata\[(.*)\]$/s.exec(name)?.[1];
    return key === undefined ? [] : [[key, String(value)]];
  });
  return Object.fromEntries(pairs);
}

function cursorIn(after: string | undefined, prefix: 'ftjob-' | 'ftevent-'): number | null {
  if (after === undefined) return null;
  const number = numberIn(after, prefix);
  if (number === null) throw badCursor(after);
  return number;
}

const chosen = (value: number | 'auto' | null | undefined): number | null =>
  typeof value === 'number' ? value : null;

function toJobRequest(body: j.CreateBody): JobRequest {
  const method = body.method?.type ?? 'supervised';
  const within = body.method?.[method]?.hyperparameters ?? null;
  if (within !== null && body.hyperparameters != null) {
    const msg = 'Field "hyperparameters": give the hyperparameters in "method" alone, or here alone';
    throw new AppError('invalid', msg, {
      issues: [{ loc: ['body', 'hyperparameters'], msg, type: 'value_error' }],
    });
  }
  const values: j.Hyperparameters = within ?? body.hyperparameters ?? {};
  return {
    model: body.model,
    trainingFile: body.training_file,
    validationFile: body.validation_file ?? null,
    method,
    hyperparameters: {
      epochs: chosen(values.n_epochs),
      batchSize: chosen(values.batch_size),
      learningRateMultiplier: chosen(values.learning_rate_multiplier),
      beta: chosen(values.beta),
      evalInterval: chosen(values.eval_interval),
    },
    grader: body.method?.reinforcement?.grader,
    responseFormat: body.method?.reinforcement?.response_format,
    hyperparametersAt: within === null ? ['hyperparameters'] : ['method', method, 'hyperparameters'],
    suffix: body.suffix ?? null,
    seed: body.seed ?? null,
    wandbProject: body.integrations?.[0]?.wandb.project ?? null,
    metadata: body.metadata ?? {},
  };
}

/** `/v1/fine_tuning/jobs`: all training jobs, as OpenAI's API has them. */
export function fineTuningRoutes({ fineTuningJobs: jobs, graders }: Services) {
  /** @throws AppError for a grader that this client may not define, or that is wrong. */
  async function acceptGrader(grader: GraderDefinition, peer: Exchange['peer'], signal: AbortSignal) {
    graders.requireAllowed(grader, peer);
    try {
      await graders.score(grader, [], signal);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'invalid') throw error;
      const { message: msg } = error;
      const loc = ['body', 'method', 'reinforcement', 'grader'];
      throw new AppError('invalid', msg, { cause: error, issues: [{ loc, msg, type: 'value_error' }] });
    }
  }
  const action = (name: 'cancel' | 'pause' | 'resume', summary: string) =>
    route({
      method: 'POST',
      path: `${path}/${name}`,
      tag,
      summary,
      responses: { 200: { description: 'The job', schema: j.job }, 400: refused, 404: noJob },
      handle: ({ params }) =>
        withJob((params as { job_id: string }).job_id, async (id) =>
          presentFineTuningJob(
            await (name === 'resume'
              ? jobs.resume(id)
              : jobs.stop(id, name === 'pause' ? 'paused' : 'cancelled')),
          ),
        ),
    });
  return [
    route({
      method: 'POST',
      path: '/v1/fine_tuning/jobs',
      tag,
      summary: 'Create a fine-tuning job; it is queued while another one runs',
      body: j.createBody,
      paths: { model: 'model' },
      bodyExample: {
        model: 'Qwen/Qwen3-0.6B',
        training_file: 'file-9f2c4e6a8b0d1f3e5a7c9b1d',
        suffix: 'support',
        method: { type: 'supervised', supervised: { hyperparameters: { n_epochs: 3 } } },
      },
      responses: {
        200: { description: 'The job', schema: j.job },
        400: refused,
        403: { description: 'Clients on other machines may not define such a grader', schema: s.error },
      },
      async handle({ body, exchange: { peer, signal } }) {
        const grader = body.method?.reinforcement?.grader;
        if (grader !== undefined) await acceptGrader(grader, peer, signal);
        return presentFineTuningJob(await jobs.create(toJobRequest(body)));
      },
    }),
    route({
      method: 'GET',
      path: '/v1/fine_tuning/jobs',
      tag,
      summary: 'List the jobs, newest first, those of the page included',
      query: j.jobQuery,
      responses: { 200: { description: 'The jobs', schema: j.jobs }, 400: refused },
      handle: ({ query }) => {
        const before = cursorIn(query.after, 'ftjob-');
        const { items, hasMore } = jobs.list({ before, limit: query.limit, metadata: metadataIn(query) });
        return pageOf(items.map(presentFineTuningJob), hasMore);
      },
    }),
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Get a fine-tuning job',
      responses: { 200: { description: 'The job', schema: j.job }, 404: noJob },
      handle: ({ params }) => withJob(params.job_id, (id) => presentFineTuningJob(jobs.get(id))),
    }),
    action('cancel', 'Cancel a job; its last checkpoint is kept'),
    action('pause', 'Pause a job with a checkpoint, or take it out of the queue'),
    action('resume', 'Resume a paused job from its last checkpoint'),
    route({
      method: 'GET',
      path: `${path}/checkpoints`,
      tag,
      summary: 'List the checkpoints of a job, newest first; each answers to its name',
      query: j.checkpointQuery,
      responses: { 200: { description: 'The checkpoints', schema: j.checkpoints }, 400: refused, 404: noJob },
      handle: ({ params, query: { after, limit } }) =>
        withJob(params.job_id, async (id) => {
          const kept = (await jobs.checkpoints(id)).map((one) => presentCheckpoint(id, one));
          const from = after === undefined ? 0 : kept.findIndex((one) => one.id === after) + 1;
          if (after !== undefined && from === 0) throw badCursor(after);
          return pageOf(kept.slice(from, from + limit), kept.length > from + limit);
        }),
    }),
    route({
      method: 'GET',
      path: `${path}/events`,
      tag,
      summary: 'List the events of a job, newest first: messages and metrics',
      query: j.pageQuery,
      responses: { 200: { description: 'The events', schema: j.events }, 400: refused, 404: noJob },
      handle: ({ params, query: { after, limit } }) =>
        withJob(params.job_id, (id) => {
          const { items, hasMore } = jobs.events(id, cursorIn(after, 'ftevent-'), limit);
          return pageOf(items.map(presentEvent), hasMore);
        }),
    }),
  ];
}
