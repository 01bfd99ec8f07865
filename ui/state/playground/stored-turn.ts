import type { StoredTurn } from '../../api/types.ts';
import type { Exchange, Side } from './exchange.ts';

const endOf = ({ answer, stopped, busy, edited }: Side) => {
  if (edited) return 'edited';
  // What is being answered when the page is left was stopped.
  if (stopped || busy) return 'stopped';
  return answer?.isCut ? 'cut' : 'complete';
};

/** An exchange as the service stores it. */
export const toTurn = ({ id, after, like, system, prompt, results, sides }: Exchange): StoredTurn => ({
  id,
  after,
  like: like ?? null,
  system,
  prompt,
  results: [...results],
  answers: sides.map((side) => ({
    name: side.name,
    text: side.text,
    reasoning: side.reasoning ?? null,
    calls: [...(side.calls ?? [])],
    tokens: side.answer?.tokens ?? null,
    prompt_tokens: side.answer?.promptTokens ?? null,
    generation_ms: side.answer?.generationMs ?? null,
    first_token_ms: side.answer?.firstTokenMs ?? null,
    end: endOf(side),
    stop_reason: side.answer?.stoppedAt ?? null,
    rating: side.rating ?? null,
    correction: side.correction ?? null,
  })),
});

/** A stored exchange; those of earlier versions have neither results nor calls. */
export const fromTurn = ({ answers, ...turn }: StoredTurn): Exchange => ({
  ...turn,
  results: turn.results ?? [],
  sides: answers.map(({ name, text, reasoning, calls, end, rating, correction, ...figures }) => ({
    name,
    first: '',
    text,
    reasoning: reasoning ?? undefined,
    calls: calls ?? [],
    busy: false,
    error: null,
    rating,
    correction,
    stopped: end === 'stopped',
    edited: end === 'edited',
    answer:
      end === 'stopped' || end === 'edited'
        ? null
        : {
            tokens: figures.tokens,
            promptTokens: figures.prompt_tokens ?? null,
            generationMs: figures.generation_ms,
            firstTokenMs: figures.first_token_ms,
            isCut: end === 'cut',
            stoppedAt: figures.stop_reason ?? undefined,
          },
  })),
});
