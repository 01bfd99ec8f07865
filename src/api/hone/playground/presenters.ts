import type { InferOutput } from 'valibot';
import type { AnswerCounts } from '../../../domain/playground/answer-figures.ts';
import type { Services } from '../../../domain/services.ts';
import type { figures as figureSchema } from './schemas.ts';

export function presentFigures({
  figures,
  processes,
}: Services['playground']): Omit<InferOutput<typeof figureSchema>, 'preparing'> {
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
      models: [...models],
      running,
      waiting,
      memory_bytes: memoryBytes,
    })),
  };
}
