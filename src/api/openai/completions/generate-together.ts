import type {
  OnAnswer,
  Playground,
  PlaygroundAnswer,
  PlaygroundRequest,
} from '../../../domain/playground/playground.ts';

/** The most answers at a time, so that a long list of prompts does not fill the model's queue. */
const together = 8;

/** Hears the answers by their index. */
interface Listener {
  onText(index: number, ...parts: Parameters<OnAnswer>): void;
  /** An answer is complete. */
  onEnd(index: number, result: PlaygroundAnswer): void;
}

/** The same request several times. With a seed, each has its own: the request's plus its index. */
export const repeated = (request: PlaygroundRequest, count: number): PlaygroundRequest[] =>
  Array.from({ length: count }, (_, index) => ({
    ...request,
    seed: request.seed == null ? null : request.seed + index,
  }));

/**
 * Answers several requests; the results are in their order. When one fails, the others are ended.
 * @throws AppError as `Playground.generate` does, after all have ended.
 */
export async function generateTogether(
  playground: Playground,
  requests: readonly PlaygroundRequest[],
  signal: AbortSignal,
  listener?: Listener,
): Promise<PlaygroundAnswer[]> {
  // Instead of AbortSignal.any, which Node 20 collects while it is waited on.
  const all = new AbortController();
  const end = () => all.abort();
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  const results: PlaygroundAnswer[] = [];
  const queue = requests.entries();
  /** Answers what nobody has taken from the queue yet. */
  const work = async () => {
    for (const [index, request] of queue) {
      // One has failed, or the client has left.
      if (all.signal.aborted) break;
      const result = await playground.generate(request, {
        signal: all.signal,
        onText: listener && ((...parts) => listener.onText(index, ...parts)),
      });
      if (!all.signal.aborted) listener?.onEnd(index, result);
      results[index] = result;
    }
  };
  const answers = Array.from({ length: Math.min(together, requests.length) }, work);
  try {
    await Promise.all(answers);
    return results;
  } catch (error) {
    end();
    await Promise.allSettled(answers);
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}
