import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import { priorityOf, type Slot } from './contexts.ts';

/** A token of an answer, with the probabilities it was sampled from in descending order. */
export interface Sampled {
  readonly token: Token;
  readonly probabilities?: ReadonlyMap<Token, number>;
}

/** Evaluates tokens of a sequence and samples those that follow. */
export interface Sampler {
  /** Whether draft tokens can be evaluated and taken back. */
  readonly canDraft: boolean;
  /**
   * Evaluates `tokens`, and along with them `drafts` of those that follow. Samples the token that follows, and one more
   * for each draft that is accepted; rejected ones are taken back. `ended`: the model ended its answer after these.
   */
  next(tokens: Token[], drafts: readonly Token[]): Promise<{ sampled: Sampled[]; ended: boolean }>;
  end(): Promise<void>;
}

export interface Sampling {
  /** How the token after these of the answer is sampled; the array grows while a grammar is followed. */
  sampling(answer: readonly Token[]): SequenceEvaluateOptions;
  /** Tokens that end a part of an answer, and not the answer, as the library says of some. */
  readonly goesOn: Pick<ReadonlySet<number>, 'has'>;
  /** Whether a grammar is followed: its state cannot be taken back. */
  readonly hasGrammar: boolean;
  readonly logprobs: number | null;
  /** The same for what follows the text of an answer, from where a grammar is followed; `null` where none is yet. */
  readonly late: ((text: string) => Promise<Sampling['sampling'] | null>) | null;
  bytesOf(token: Token, before: readonly Token[]): Uint8Array;
}

/** @param answer the tokens of the answer so far; the caller adds those that are sampled */
export function createSampler(slot: Slot, answer: readonly Token[], question: Sampling): Sampler {
  if (question.hasGrammar) return sampleByGrammar(slot, answer, question);
  const free = sampleFreely(slot, answer, question);
  return question.late === null ? free : sampleUntil(slot, answer, question, question.late, free);
}

/** Samples freely, and by a grammar from where the answer begins what it is for. */
function sampleUntil(
  slot: Slot,
  answer: readonly Token[],
  question: Sampling,
  late: NonNullable<Sampling['late']>,
  free: Sampler,
): Sampler {
  let bound: Sampler | null = null;
  let text = '';
  let read = 0;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    get canDraft() {
      return bound === null && free.canDraft;
    },
    async next(tokens, drafts) {
      for (; read < answer.length; read += 1) {
        const bytes = question.bytesOf(answer[read] as Token, answer.slice(Math.max(0, read - 8), read));
        text += decoder.decode(bytes, { stream: true });
      }
      const sampling = bound === null ? await late(text) : null;
      if (sampling !== null) bound = sampleByGrammar(slot, answer, { ...question, sampling });
      return bound === null ? free.next(tokens, drafts) : bound.next(tokens, []);
    },
    end: async () => bound?.end(),
  };
}

function sampleFreely(slot: Slot, answer: readonly Token[], question: Sampling): Sampler {
  const { sequence } = slot;
  const probabilities = question.logprobs !== null;
  const isEnd = (token: Token) => !question.goesOn.has(token) && sequence.model.isEogToken(token);
  return {
    // These models cannot take back tokens without evaluating others again (sliding windows, recurrent states).
    canDraft: !sequence.needsCheckpoints,
    async next(tokens, drafts) {
      const start = sequence.nextTokenIndex;
      const sampledAfter = (token: Token, drafted: number): [Token, object] => [
        token,
        {
          generateNext: {
            token: true,
            probabilities,
            options: question.sampling(drafted === 0 ? answer : [...answer, ...drafts.slice(0, drafted)]),
          },
        },
      ];
      const outputs = await sequence.controlledEvaluate(
        [
          ...tokens.slice(0, -1),
          ...[tokens.at(-1) as Token, ...drafts].map((token, drafted) => sampledAfter(token, drafted)),
        ],
        { evaluationPriority: priorityOf(slot) },
      );
      const sampled: Sampled[] = [];
      for (const output of outputs.slice(tokens.length - 1)) {
        const token = output?.next.token;
        if (token === undefined || token === null) throw new Error('The engine sampled no token.');
        const known = sampled.length;
        if (isEnd(token)) return { sampled, ended: true };
        const rated = output?.next.probabilities;
        sampled.push(rated === undefined ? { token } : { token, probabilities: rated });
        if (drafts[known] !== token) break;
      }
      const end = sequence.nextTokenIndex;
      const right = start + tokens.length + sampled.length - 1;
      if (right < end) await sequence.eraseContextTokenRanges([{ start: right, end }]);
      return { sampled, ended: false };
    },
    end: async () => undefined,
  };
}

function sampleByGrammar(slot: Slot, answer: readonly Token[], question: Sampling): Sampler {
  let evaluation: ReturnType<LlamaContextSequence['evaluateWithMetadata']> | undefined;
  return {
    canDraft: false,
    async next(tokens) {
      // It evaluates by itself the token that it sampled before.
      evaluation ??= slot.sequence.evaluateWithMetadata(
        tokens,
        { probabilities: question.logprobs !== null },
        { ...question.sampling(answer), evaluationPriority: priorityOf(slot) },
      );
      const { done, value } = await evaluation.next();
      return done ? { sampled: [], ended: true } : { sampled: [value as Sampled], ended: false };
    },
    async end() {
      await evaluation?.return();
    },
  };
}
