import * as v from 'valibot';
import type { AnswerCounts } from '../../domain/playground/answer-figures.ts';
import type { Services } from '../../domain/services.ts';
import { route } from '../../http/route.ts';
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
});

/** What models answered since the start of the service, and what they do now. */
export function answeringRoutes({ playground }: Services) {
  return [
    route({
      method: 'GET',
      path: '/api/playground/figures',
      tag,
      summary:
        'Requests to models: running, waiting and ended, their tokens and speed, and memory of the models',
      responses: { 200: { description: 'The figures', schema: answering } },
      handle: () => present(playground),
    }),
  ];
}

function present({ figures, processes }: Services['playground']): v.InferOutput<typeof answering> {
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
