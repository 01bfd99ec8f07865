import type {
  OnAnswer,
  Playground,
  PlaygroundAnswer,
  PlaygroundRequest,
} from '../../../domain/playground/playground.ts';

/** Hears the answers by their index. */
interface Listener {
  onText(index: number, ...parts: Parameters<OnAnswer>): void;
  /** An answer is complete. */
  onEnd(index: number, result: PlaygroundAnswer): void;
}

/**
 * Generates several answers to one request. With a seed, each has its own: the request's plus its index. When one fails,
 * the others are ended.
 * @throws AppError as `Playground.generate` does, after all have ended.
 */
export async function generateTogether(
  playground: Playground,
  request: PlaygroundRequest,
  count: number,
  signal: AbortSignal,
  listener?: Listener,
): Promise<PlaygroundAnswer[]> {
  // Instead of AbortSignal.any, which Node 20 collects while it is waited on.
  const together = new AbortController();
  const end = () => together.abort();
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  const answer = async (index: number) => {
    const result = await playground.generate(
      { ...request, seed: request.seed == null ? null : request.seed + index },
      { signal: together.signal, onText: listener && ((...parts) => listener.onText(index, ...parts)) },
    );
    if (!together.signal.aborted) listener?.onEnd(index, result);
    return result;
  };
  const answers = Array.from({ length: count }, (_, index) => answer(index));
  try {
    return await Promise.all(answers);
  } catch (error) {
    end();
    await Promise.allSettled(answers);
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}
