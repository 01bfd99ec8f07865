import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import type { GenerateResult, TokenChoice } from '../protocol/generation.ts';
import { priorityOf, type Slot } from './contexts.ts';
import { canCopy, copyTokens, isWorthCopying } from './copying.ts';
import { choiceOf } from './logprobs.ts';
import { createPromptRating, type PromptRating } from './prompt-logprobs.ts';
import { createPromptLookup, type PromptLookup } from './prompt-lookup.ts';
import { createSampler, type Sampled, type Sampling } from './sampler.ts';
import type { TextStream } from './text-stream.ts';

export type Answer = GenerateResult & {
  /** Draft tokens that were accepted: evaluated in the same step as the token before them. */
  lookedUpTokens: number;
};

/** What one request evaluates. */
export interface Question extends Sampling {
  readonly prompt: Token[];
  /** The most tokens of the answer. */
  readonly limit: number;
  readonly temperature: number;
  /** What the answer begins with: the text of the prompt, or of the end of it. */
  readonly echo: string;
  /** Whether the tokens of the prompt are rated, too, with `logprobs`. */
  readonly ratesPrompt: boolean;
  /** How many likely tokens are told for each token of the answer; `null`: not even its own probability. */
  readonly logprobs: number | null;
  /** Whether what was evaluated of the prompt before, or for another request, is used. */
  readonly cache: boolean;
  /** Whether prompt lookup may draft tokens. The answer is the same. */
  readonly lookup: boolean;
  /** Tokens that end the answer, besides the model's own, with their texts. */
  readonly stopTokens: ReadonlyMap<number, string>;
  /** The stop strings that are told when they end the answer. */
  readonly toldStops: ReadonlySet<string>;
  readonly stream: TextStream;
  readonly signal: AbortSignal;
  onText(delta: string, tokens: readonly TokenChoice[]): void;
  /** When the request came, as of `performance.now()`. */
  readonly cameAt: number;
}

/** A request that is being answered, step by step. */
export interface Answering {
  readonly slot: Slot;
  /** Whether it uses what was evaluated of its prompt before, or for another request. */
  readonly usesCache: boolean;
  /** Tokens of the prompt that are left to evaluate; 1 while the answer is generated. */
  left(): number;
  /**
   * Takes over what another slot has evaluated of the prompt, if that is much more than its own has.
   * Only before its first step.
   */
  copy(from: Slot): Promise<void>;
  /** How many tokens of the answer it would draft for the next step. */
  drafts(): number;
  /**
   * Evaluates `tokens` of the prompt, or continues the answer by one token, and by at most `drafts` more.
   * @param isShared whether others are evaluated in the same step
   * @returns whether the answer is complete
   */
  step(tokens: number, drafts: number, isShared: boolean): Promise<boolean>;
  /** Ends the answer, also before it is complete. */
  end(): Promise<Answer>;
}

/** The text and the rated tokens of an answer, of which the request hears what is new. */
function createShown({ echo, onText }: Question, rating: PromptRating | null) {
  const choices: TokenChoice[] = [];
  let told = 0;
  let text = '';
  let hasBegun = false;
  const add = (delta: string, isLast = false): void => {
    if (delta === '' && !(isLast && told < choices.length)) return;
    text += delta;
    onText(delta, choices.slice(told));
    told = choices.length;
  };
  return {
    choices,
    text: () => text,
    add,
    /** Repeats the prompt or its end, once. */
    begin(): void {
      if (hasBegun || echo === '') return;
      hasBegun = true;
      choices.push(...(rating?.choices ?? []));
      add(echo, true);
    },
  };
}

/** Begins an answer in a slot, whose cached tokens are kept as far as the prompt begins with them. */
export async function beginAnswer(slot: Slot, question: Question): Promise<Answering> {
  const { prompt, limit, stream, signal, logprobs, ratesPrompt } = question;
  const sequence: LlamaContextSequence = slot.sequence;
  const rating =
    ratesPrompt && logprobs !== null ? createPromptRating(slot, prompt, logprobs, question.bytesOf) : null;
  // Probabilities are not kept.
  const usesCache = question.cache && rating === null;
  // The last token must be evaluated again.
  if (usesCache) await sequence.adaptStateToTokens(prompt.slice(0, -1), false);
  else await sequence.clearHistory();

  let cachedTokens = sequence.nextTokenIndex;
  const shown = createShown(question, rating);
  let firstMs: number | null = null;
  let complete = false;
  let stoppedAt: string | null = null;
  let lookedUpTokens = 0;
  let wasShared = false;
  /** The tokens of the answer. */
  const before: Token[] = [];
  const sampler = createSampler(slot, before, question);
  let lookup: PromptLookup | null = null;
  const draft = (most: number): Token[] => {
    // Room for the token before them, and for the last one of the answer, which is not evaluated.
    const free = slot.context.tokens - 2 - sequence.nextTokenIndex;
    return lookup?.next(Math.min(most, limit - before.length - 1, free)) ?? [];
  };

  /** Takes the next token of the answer; returns whether the answer is complete. */
  function take({ token, probabilities }: Sampled): boolean {
    firstMs ??= performance.now() - question.cameAt;
    shown.begin();
    const stopToken = question.stopTokens.get(token);
    if (stopToken !== undefined) {
      stoppedAt = stopToken;
      complete = true;
      return true;
    }
    const next = stream.push(question.bytesOf(token, before.slice(-8)));
    if (logprobs !== null && probabilities !== undefined && next.stop === null) {
      const bytesOf = (of: Token) => question.bytesOf(of, before.slice(-8));
      shown.choices.push(choiceOf(token, probabilities, question.temperature, logprobs, bytesOf));
    }
    before.push(token);
    shown.add(next.text);
    if (question.lookup && sampler.canDraft) {
      lookup ??= createPromptLookup(prompt);
      lookup.add(token);
    }
    stoppedAt = next.stop;
    complete = stoppedAt !== null;
    return complete || before.length >= limit;
  }

  return {
    slot,
    usesCache,
    left: () => (before.length === 0 ? prompt.length - sequence.nextTokenIndex : 1),
    async copy({ context, sequence: from }) {
      if (context !== slot.context || !usesCache || !canCopy(sequence)) return;
      const shared = from.compareContextTokens(prompt.slice(0, -1)).firstDifferentIndex;
      if (!isWorthCopying(shared, sequence.nextTokenIndex)) return;
      await copyTokens(from, sequence, shared);
      cachedTokens = sequence.nextTokenIndex;
    },
    drafts: () => (before.length === 0 ? 0 : draft(Number.POSITIVE_INFINITY).length),
    async step(count, most, isShared) {
      wasShared ||= isShared;
      if (rating?.isComplete() === false) await rating.evaluate(count);
      const isRated = rating?.isComplete() ?? true;
      if (limit === 0 || !isRated) return limit === 0 && isRated;
      const from = sequence.nextTokenIndex;
      if (before.length === 0 && from + count < prompt.length) {
        const part = prompt.slice(from, from + count);
        await sequence.evaluateWithoutGeneratingNewTokens(part, { evaluationPriority: priorityOf(slot) });
        return false;
      }
      const last = before.at(-1);
      const { sampled, ended } = await sampler.next(
        last === undefined ? prompt.slice(from) : [last],
        last === undefined ? [] : draft(most),
      );
      for (const [index, one] of sampled.entries()) {
        const had = before.length;
        const isComplete = take(one);
        if (index > 0) lookedUpTokens += before.length - had;
        if (isComplete) return true;
      }
      complete = ended;
      return ended;
    },
    async end() {
      await sampler.end();
      if (!signal.aborted) shown.begin();
      shown.add(stream.end(), true);
      const durationMs = performance.now() - question.cameAt;
      return {
        text: shown.text(),
        promptTokens: prompt.length,
        cachedTokens,
        isShared: wasShared,
        generatedTokens: before.length,
        lookedUpTokens,
        finishReason: complete ? 'stop' : signal.aborted ? 'aborted' : 'length',
        stoppedAt: stoppedAt !== null && question.toldStops.has(stoppedAt) ? stoppedAt : undefined,
        timeToFirstTokenMs: firstMs ?? durationMs,
        durationMs,
        tokens: logprobs === null ? undefined : shown.choices,
      };
    },
  };
}
