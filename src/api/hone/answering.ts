import * as v from 'valibot';
import type { AnswerCounts } from '../../domain/playground/answer-figures.ts';
import type { Services } from '../../domain/services.ts';
import { AppError } from '../../errors.ts';
import { route } from '../../http/route.ts';
import * as s from './schemas.ts';
import { tag } from './tag.ts';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
/** Requests that are being answered, and those that wait. */
const requests = { running: count, waiting: count };

const answering = v.object({
  ...requests,
  /** Requests that have ended since the start of the service, and those of them that failed. */
  ended: count,
  failed: count,
  prompt_tokens: count,
  /** Tokens of prompts that were kept from earlier requests. */
  cached_tokens: count,
  generated_tokens: count,
  /** Tokens of answers that were guessed from what their prompts have. */
  guessed_tokens: count,
  /** Median of the latest 20 answers; `null` before the first. */
  first_token_ms: v.nullable(v.number()),
  /** Of the latest 20 answers, after their first tokens. */
  tokens_per_second: v.nullable(v.number()),
  /** The processes that hold models. */
  processes: v.array(
    v.object({
      /** Models that it answered for; those of one base share a process. */
      models: v.array(v.string()),
      ...requests,
      /** Resident memory; `null` before the process has told it. */
      memory_bytes: v.nullable(v.number()),
    }),
  ),
  /** What is being made: the file of a base that several models share, those of a checkpoint, or a model's missing record of its base. */
  preparing: v.nullable(
    v.object({
      kind: v.picklist(['base', 'checkpoint', 'record']),
      /** The base model, the run, or the model. */
      name: v.string(),
      /** 0 to 1; `null` until it is known. */
      progress: v.nullable(v.number()),
    }),
  ),
});

/** What models answered since the start of the service, and what they do now. */
export function answeringRoutes({ playground, checkpoints }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/playground/figures',
      tag,
      summary:
        'Requests to models: running, waiting and ended, their tokens and speed, and memory of the models',
      responses: { 200: { description: 'The figures', schema: answering } },
      handle: () => ({ ...present(playground), preparing: checkpoints.preparation() }),
    }),
    route({
      method: 'DELETE',
      path: '/api/playground/preparing',
      tag,
      summary: 'Stop making the file of a base that several models share; they answer with their own files',
      responses: {
        200: {
          description: 'It is not made before the next start',
          schema: v.object({ stopped: v.boolean() }),
        },
        404: { description: 'None is being made', schema: s.error },
      },
      handle: async () => {
        if (await checkpoints.stopSharing()) return { stopped: true };
        throw new AppError('not_found', 'No file of a base model is being made.');
      },
    }),
  ];
}

function present({
  figures,
  processes,
}: Services['playground']): Omit<v.InferOutput<typeof answering>, 'preparing'> {
  const counts = [...figures.counts().values()];
  const now = processes();
  const { firstTokenMs, tokensPerSecond } = figures.latest();
  const sum = <T>(all: readonly T[], of: (one: T) => number) =>
    all.reduce((total, one) => total + of(one), 0);
  const endedOf = ({ requests: ended }: AnswerCounts) => sum(Object.values(ended), (number) => number);
  return {
    running: sum(now, ({ running }) => running),
    waiting: sum(now, ({ waiting }) => waiting),
    ended: sum(counts, endedOf),
    failed: sum(counts, (one) => one.requests.failed),
    prompt_tokens: sum(counts, (one) => one.promptTokens),
    cached_tokens: sum(counts, (one) => one.cachedTokens),
    generated_tokens: sum(counts, (one) => one.generatedTokens),
    guessed_tokens: sum(counts, (one) => one.lookedUpTokens),
    first_token_ms: firstTokenMs,
    tokens_per_second: tokensPerSecond,
    processes: now.map(({ models, running, waiting, memoryBytes }) => ({
      ...{ models: [...models], running, waiting, memory_bytes: memoryBytes },
    })),
  };
}
