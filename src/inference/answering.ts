import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import { type Place, priorityOf } from './rooms.ts';
import type { TextStream } from './text-stream.ts';

export interface Answer {
  text: string;
  promptTokens: number;
  /** Tokens of the prompt that were kept from an earlier request. */
  cachedTokens: number;
  generatedTokens: number;
  finishReason: 'stop' | 'length' | 'aborted';
  timeToFirstTokenMs: number;
  durationMs: number;
}

/** The answer to a request that was aborted before it began. */
export const abortedAnswer = (): Answer => ({
  ...{ text: '', promptTokens: 0, cachedTokens: 0, generatedTokens: 0, finishReason: 'aborted' as const },
  ...{ timeToFirstTokenMs: 0, durationMs: 0 },
});

/** What one request evaluates. */
export interface Question {
  readonly prompt: Token[];
  /** The most tokens of the answer. */
  readonly limit: number;
  readonly sampling: SequenceEvaluateOptions;
  /** Tokens that end the answer, besides the model's own. */
  readonly stopTokens: ReadonlySet<number>;
  readonly stream: TextStream;
  bytesOf(token: Token, before: readonly Token[]): Uint8Array;
  readonly signal: AbortSignal;
  onText(delta: string): void;
  /** When the request came, as of `performance.now()`. */
  readonly cameAt: number;
}

/** A request that is being answered, step by step. */
export interface Answering {
  readonly place: Place;
  /** Tokens of the prompt that are left to evaluate; 1 while the answer is generated. */
  left(): number;
  /** Evaluates `tokens` of the prompt, or continues the answer by one token. Returns whether the answer is complete. */
  step(tokens: number): Promise<boolean>;
  /** Ends the answer, also before it is complete. */
  end(): Promise<Answer>;
}

/** Begins an answer in a place, whose cached tokens are kept as far as the prompt begins with them. */
export async function beginAnswer(place: Place, question: Question): Promise<Answering> {
  const { prompt, limit, stream, signal } = question;
  const sequence: LlamaContextSequence = place.sequence;
  const evaluationPriority = priorityOf(place);
  // The last token must be evaluated again.
  await sequence.adaptStateToTokens(prompt.slice(0, -1), false);

  const cachedTokens = sequence.nextTokenIndex;
  let tokens: AsyncGenerator<Token, void, undefined | Token> | undefined;
  let text = '';
  let firstMs: number | null = null;
  let complete = false;
  let generated = 0;
  const before: Token[] = [];
  const show = (delta: string): void => {
    if (delta === '') return;
    text += delta;
    question.onText(delta);
  };

  return {
    place,
    left: () => (tokens === undefined ? prompt.length - sequence.nextTokenIndex : 1),
    async step(count) {
      const from = sequence.nextTokenIndex;
      if (tokens === undefined && from + count < prompt.length) {
        const part = prompt.slice(from, from + count);
        await sequence.evaluateWithoutGeneratingNewTokens(part, { evaluationPriority });
        return false;
      }
      tokens ??= sequence.evaluate(prompt.slice(from), { ...question.sampling, evaluationPriority });
      const next = await tokens.next();
      if (next.done) {
        complete = true;
        return true;
      }
      firstMs ??= performance.now() - question.cameAt;
      const token = next.value;
      if (question.stopTokens.has(token)) {
        complete = true;
        return true;
      }
      generated += 1;
      const shown = stream.push(question.bytesOf(token, before.slice(-8)));
      before.push(token);
      show(shown.text);
      complete = shown.stopped;
      return complete || generated >= limit;
    },
    async end() {
      await tokens?.return();
      show(stream.end());
      const durationMs = performance.now() - question.cameAt;
      return {
        text,
        promptTokens: prompt.length,
        cachedTokens,
        generatedTokens: generated,
        finishReason: complete ? 'stop' : signal.aborted ? 'aborted' : 'length',
        timeToFirstTokenMs: firstMs ?? durationMs,
        durationMs,
      };
    },
  };
}
