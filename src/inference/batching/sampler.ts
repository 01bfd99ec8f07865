import type { LlamaContextSequence, SequenceEvaluateOptions, Token } from 'node-llama-cpp';
import { priorityOf, type Slot } from './contexts.ts';

/** A token of an answer; the probabilities are those it was drawn from, in descending order. */
export interface Drawn {
  readonly token: Token;
  readonly probabilities?: ReadonlyMap<Token, number>;
}

/** Evaluates tokens of a sequence and draws those that follow. */
export interface Sampler {
  /** Whether tokens can be guessed: evaluated before it is known that they are drawn. */
  readonly guessable: boolean;
  /**
   * Evaluates `tokens`, and along with them `guesses` of those that follow. Draws the token that follows, and one more
   * for each guess that is right; wrong ones are taken back. `ended` tells that the model ended its answer after these.
   */
  next(tokens: Token[], guesses: readonly Token[]): Promise<{ drawn: Drawn[]; ended: boolean }>;
  end(): Promise<void>;
}

export interface Sampling {
  /** How the token after these of the answer is drawn; the array grows while a grammar is followed. */
  sampling(answer: readonly Token[]): SequenceEvaluateOptions;
  /** Tokens that end a part of an answer, and not the answer, as the library says of some. */
  readonly goesOn: ReadonlySet<number>;
  /** Whether a grammar is followed: its state cannot be taken back. */
  readonly hasGrammar: boolean;
  readonly logprobs: number | null;
}

/** @param answer the tokens of the answer so far; the caller adds those that are drawn */
export function createSampler(slot: Slot, answer: readonly Token[], question: Sampling): Sampler {
  return question.hasGrammar ? drawByGrammar(slot, answer, question) : drawFreely(slot, answer, question);
}

function drawFreely(slot: Slot, answer: readonly Token[], question: Sampling): Sampler {
  const { sequence } = slot;
  const probabilities = question.logprobs !== null;
  const isEnd = (token: Token) => !question.goesOn.has(token) && sequence.model.isEogToken(token);
  return {
    // These models cannot take back tokens without evaluating others again (sliding windows, recurrent states).
    guessable: !sequence.needsCheckpoints,
    async next(tokens, guesses) {
      const start = sequence.nextTokenIndex;
      const drawnAfter = (token: Token, guessed: number): [Token, object] => [
        token,
        {
          generateNext: {
            token: true,
            probabilities,
            options: question.sampling(guessed === 0 ? answer : [...answer, ...guesses.slice(0, guessed)]),
          },
        },
      ];
      const outputs = await sequence.controlledEvaluate(
        [
          ...tokens.slice(0, -1),
          ...[tokens.at(-1) as Token, ...guesses].map((token, guessed) => drawnAfter(token, guessed)),
        ],
        { evaluationPriority: priorityOf(slot) },
      );
      const drawn: Drawn[] = [];
      for (const output of outputs.slice(tokens.length - 1)) {
        const token = output?.next.token;
        if (token === undefined || token === null) throw new Error('The engine drew no token.');
        const known = drawn.length;
        if (isEnd(token)) return { drawn, ended: true };
        const rated = output?.next.probabilities;
        drawn.push(rated === undefined ? { token } : { token, probabilities: rated });
        if (guesses[known] !== token) break;
      }
      const end = sequence.nextTokenIndex;
      const right = start + tokens.length + drawn.length - 1;
      if (right < end) await sequence.eraseContextTokenRanges([{ start: right, end }]);
      return { drawn, ended: false };
    },
    end: async () => undefined,
  };
}

function drawByGrammar(slot: Slot, answer: readonly Token[], question: Sampling): Sampler {
  let drawing: ReturnType<LlamaContextSequence['evaluateWithMetadata']> | undefined;
  return {
    guessable: false,
    async next(tokens) {
      // It evaluates by itself the token that it drew before.
      drawing ??= slot.sequence.evaluateWithMetadata(
        tokens,
        { probabilities: question.logprobs !== null },
        { ...question.sampling(answer), evaluationPriority: priorityOf(slot) },
      );
      const { done, value } = await drawing.next();
      return done ? { drawn: [], ended: true } : { drawn: [value as Drawn], ended: false };
    },
    async end() {
      await drawing?.return();
    },
  };
}
