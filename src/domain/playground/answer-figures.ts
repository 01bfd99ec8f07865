import type { GenerateResult } from '../../inference/engine/engine.ts';

/** Upper bounds of the histogram of first tokens, in seconds. */
export const firstTokenBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;
/** Models that are counted by name; those that come later are counted together, so that the names stay few. */
const mostNamed = 50;
export const otherModels = 'other';
/** The page shows the speed of so many of the latest answers. */
const latestAnswers = 20;

/** What was answered since the start of the service. */
export interface AnswerCounts {
  /** Requests by how they ended. */
  readonly requests: Record<GenerateResult['finishReason'] | 'failed', number>;
  promptTokens: number;
  /** Tokens of prompts that were kept from earlier requests. */
  cachedTokens: number;
  generatedTokens: number;
  /** Those of them that prompt lookup drafted. */
  lookedUpTokens: number;
}

/** Counts answers, for `/metrics` and the page. */
export interface AnswerFigures {
  /** Counts a request to a model, whatever becomes of it. */
  counted<R extends GenerateResult>(model: string, work: () => Promise<R>): Promise<R>;
  /** By the model's name. */
  counts(): ReadonlyMap<string, AnswerCounts>;
  /** Times from a request to its first token; `buckets` has those up to each of `firstTokenBounds`. */
  firstTokens(): { readonly buckets: readonly number[]; readonly count: number; readonly sumSeconds: number };
  /** Of the latest answers: the median time to the first token, and tokens per second after it. `null` before the first. */
  latest(): { readonly firstTokenMs: number | null; readonly tokensPerSecond: number | null };
}

export function createAnswerFigures(): AnswerFigures {
  const byModel = new Map<string, AnswerCounts>();
  const buckets: number[] = firstTokenBounds.map(() => 0);
  let count = 0;
  let sumSeconds = 0;
  const latest: { firstTokenMs: number; tokens: number; ms: number }[] = [];

  function countsOf(model: string): AnswerCounts {
    const name = byModel.has(model) || byModel.size < mostNamed ? model : otherModels;
    const known = byModel.get(name);
    if (known !== undefined) return known;
    const made: AnswerCounts = {
      requests: { stop: 0, length: 0, aborted: 0, failed: 0 },
      promptTokens: 0,
      cachedTokens: 0,
      generatedTokens: 0,
      lookedUpTokens: 0,
    };
    byModel.set(name, made);
    return made;
  }

  function add(counts: AnswerCounts, result: GenerateResult): void {
    counts.requests[result.finishReason] += 1;
    counts.promptTokens += result.promptTokens;
    counts.cachedTokens += result.cachedTokens;
    counts.generatedTokens += result.generatedTokens;
    counts.lookedUpTokens += result.lookedUpTokens ?? 0;
    if (result.generatedTokens === 0) return;
    const seconds = result.timeToFirstTokenMs / 1000;
    for (const [index, bound] of firstTokenBounds.entries())
      if (seconds <= bound) buckets[index] = (buckets[index] ?? 0) + 1;
    count += 1;
    sumSeconds += seconds;
    latest.push({
      firstTokenMs: result.timeToFirstTokenMs,
      tokens: result.generatedTokens - 1,
      ms: result.durationMs - result.timeToFirstTokenMs,
    });
    if (latest.length > latestAnswers) latest.shift();
  }

  return {
    async counted(model, work) {
      const counts = countsOf(model);
      try {
        const result = await work();
        add(counts, result);
        return result;
      } catch (error) {
        counts.requests.failed += 1;
        throw error;
      }
    },
    counts: () => byModel,
    firstTokens: () => ({ buckets, count, sumSeconds }),
    latest() {
      const times = latest.map(({ firstTokenMs }) => firstTokenMs).sort((one, other) => one - other);
      const ms = latest.reduce((sum, one) => sum + one.ms, 0);
      const tokens = latest.reduce((sum, one) => sum + one.tokens, 0);
      return {
        firstTokenMs: times[Math.floor(times.length / 2)] ?? null,
        tokensPerSecond: ms > 0 && tokens > 0 ? (tokens * 1000) / ms : null,
      };
    },
  };
}
