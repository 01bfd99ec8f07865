import type { getLlama, LlamaEmbeddingContext, LlamaModel, Token } from 'node-llama-cpp';
import { AppError } from '../../errors.ts';
import { promptChunkTokens } from '../batching/token-budget.ts';

export interface Embeddings {
  embeddings: number[][];
  promptTokens: number;
}

/** The least context for embeddings, in tokens. */
const leastTokens = 512;

/**
 * Makes vectors of texts: the hidden state after the last token, of length 1.
 *
 * @param contextTokens the most tokens that the model supports
 * @param vocabulary the number of the model's tokens
 * @param prepare called before each text with the number of its tokens
 * @param onStep called after each text
 */
export function createEmbeddings(
  llama: Awaited<ReturnType<typeof getLlama>>,
  model: LlamaModel,
  contextTokens: number,
  vocabulary: number,
  prepare: (tokens: number) => void,
  onStep: () => void,
) {
  let context: { tokens: number; vectors: LlamaEmbeddingContext } | undefined;
  /** The context has one sequence, so one request after the other uses it. */
  let tail: Promise<unknown> = Promise.resolve();

  /** A context that holds more than `wanted` tokens. */
  async function contextFor(wanted: number): Promise<LlamaEmbeddingContext> {
    if (context !== undefined && context.tokens > wanted) return context.vectors;
    await context?.vectors.dispose();
    context = undefined;
    const tokens = Math.min(contextTokens, Math.max(leastTokens, 2 ** Math.ceil(Math.log2(wanted + 1))));
    const most = llama.maxThreads;
    // The binding keeps the smaller of the two permanently, and a training may end soon.
    llama.maxThreads = Math.max(most, llama.cpuMathCores);
    try {
      const vectors = await model.createEmbeddingContext({
        contextSize: tokens,
        batchSize: Math.min(tokens, promptChunkTokens),
        threads: llama.cpuMathCores,
      });
      context = { tokens, vectors };
      return vectors;
    } finally {
      llama.maxThreads = most;
    }
  }

  function tokensOf(input: string | readonly number[], index: number, longest: number): Token[] {
    // A string is text, not special tokens.
    const tokens = typeof input === 'string' ? model.tokenize(input) : (input.slice() as Token[]);
    if (tokens.length === 0)
      throw new AppError('invalid', `Input ${index} is empty.`, { details: { index } });
    const unknown = tokens.find((token) => !(Number.isInteger(token) && token >= 0 && token < vocabulary));
    if (unknown !== undefined) {
      const message = `Input ${index} has the token ${unknown}; the model's tokens are 0 to ${vocabulary - 1}.`;
      throw new AppError('invalid', message, { details: { index } });
    }
    // A beginning and an end token are added.
    if (tokens.length + 2 >= longest) {
      throw new AppError(
        'invalid',
        `Input ${index} has ${tokens.length} tokens, but the model's context holds ${longest}. Shorten it.`,
        { details: { index, promptTokens: tokens.length, contextTokens: longest } },
      );
    }
    return tokens;
  }

  async function embed(
    inputs: readonly (string | number[])[],
    longest: number,
    signal: AbortSignal,
  ): Promise<Embeddings> {
    const asked = inputs.map((input, index) => tokensOf(input, index, longest));
    const result: Embeddings = { embeddings: [], promptTokens: 0 };
    const vectors = await contextFor(Math.max(...asked.map(({ length }) => length + 2)));
    for (const tokens of asked) {
      if (signal.aborted) break;
      result.promptTokens += tokens.length;
      prepare(tokens.length);
      const { vector } = await vectors.getEmbeddingFor(tokens);
      onStep();
      const length = Math.hypot(...vector);
      result.embeddings.push(vector.map((value) => value / (length || 1)));
    }
    return result;
  }

  return {
    /** @param longest the most tokens that the model's template allows. */
    embed(inputs: readonly (string | number[])[], longest: number, signal: AbortSignal): Promise<Embeddings> {
      const done = tail.then(() => embed(inputs, longest, signal));
      tail = done.catch(() => undefined);
      return done;
    },
  };
}
