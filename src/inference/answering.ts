import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import { choiceOf, type TokenChoice } from './choices.ts';
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
  /** With `logprobs`. */
  tokens?: TokenChoice[];
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
  /** A function gets the tokens of the answer, which grow. */
  sampling(answer: readonly Token[]): SequenceEvaluateOptions;
  readonly temperature: number;
  /** How many likely tokens are told for each token of the answer; `null`: not even its own probability. */
  readonly logprobs: number | null;
  /** Tokens that end the answer, besides the model's own. */
  readonly stopTokens: ReadonlySet<number>;
  readonly stream: TextStream;
  bytesOf(token: Token, before: readonly Token[]): Uint8Array;
  readonly signal: AbortSignal;
  onText(delta: string, tokens: readonly TokenChoice[]): void;
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
  const { prompt, limit, stream, signal, logprobs } = question;
  const sequence: LlamaContextSequence = place.sequence;
  const evaluationPriority = priorityOf(place);
  // The last token must be evaluated again.
  await sequence.adaptStateToTokens(prompt.slice(0, -1), false);

  const cachedTokens = sequence.nextTokenIndex;
  let tokens: ReturnType<LlamaContextSequence['evaluateWithMetadata']> | undefined;
  const choices: TokenChoice[] = [];
  let told = 0;
  let text = '';
  let firstMs: number | null = null;
  let complete = false;
  let generated = 0;
  const before: Token[] = [];
  const show = (delta: string, isLast = false): void => {
    if (delta === '' && !(isLast && told < choices.length)) return;
    text += delta;
    question.onText(delta, choices.slice(told));
    told = choices.length;
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
      tokens ??= sequence.evaluateWithMetadata(
        prompt.slice(from),
        { probabilities: logprobs !== null },
        { ...question.sampling(before), evaluationPriority },
      );
      const next = await tokens.next();
      if (next.done) {
        complete = true;
        return true;
      }
      firstMs ??= performance.now() - question.cameAt;
      const { token, probabilities } = next.value as { token: Token; probabilities?: Map<Token, number> };
      if (question.stopTokens.has(token)) {
        complete = true;
        return true;
      }
      generated += 1;
      const shown = stream.push(question.bytesOf(token, before.slice(-8)));
      if (logprobs !== null && probabilities !== undefined && !shown.stopped) {
        const bytesOf = (of: Token) => question.bytesOf(of, before.slice(-8));
        choices.push(choiceOf(token, probabilities, question.temperature, logprobs, bytesOf));
      }
      before.push(token);
      show(shown.text);
      complete = shown.stopped;
      return complete || generated >= limit;
    },
    async end() {
      await tokens?.return();
      show(stream.end(), true);
      const durationMs = performance.now() - question.cameAt;
      return {
        text,
        promptTokens: prompt.length,
        cachedTokens,
        generatedTokens: generated,
        finishReason: complete ? 'stop' : signal.aborted ? 'aborted' : 'length',
        timeToFirstTokenMs: firstMs ?? durationMs,
        durationMs,
        ...(logprobs === null ? {} : { tokens: choices }),
      };
    },
  };
}
