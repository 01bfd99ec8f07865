import type { RatingFilter } from '../../../../src/contract/graders/feedback.ts';
import type { ServiceError } from '../../../api/request.ts';
import { service } from '../../../api/service.ts';
import type { KeptSummary } from '../../../api/types.ts';
import { asServiceError } from '../../../state/remote.ts';
import { Store } from '../../../state/store.ts';
import { ratingOptions } from './rating-words.ts';

/** Which kept answers are looked for; an empty text is no filter. */
export interface AnswerFilter {
  readonly search: string;
  readonly model: string;
  readonly rating: RatingFilter | '';
}

/** The filter that an address has. */
export function filterOf(query: URLSearchParams): AnswerFilter {
  const rating = query.get('rating');
  return {
    search: (query.get('q') ?? '').trim().slice(0, 200),
    model: query.get('model') ?? '',
    rating: ratingOptions.find(({ value }) => value === rating)?.value ?? '',
  };
}

/** A filter as requests have it. */
export const sentFilter = ({ search, model, rating }: AnswerFilter) => ({
  search: search || undefined,
  model: model || undefined,
  rating: rating || undefined,
});

export interface FoundAnswers {
  /** `null` until the first answer of the service. */
  readonly answers: readonly KeptSummary[] | null;
  readonly hasMore: boolean;
  /** How many were kept since, of a page at most; they are shown on demand, so that nothing moves under the pointer. */
  readonly newer: number;
  readonly error: ServiceError | null;
  /** Whether more are on their way. */
  readonly isReading: boolean;
}

const pageAnswers = 50;
/** How long after the last letter a search begins. */
const typedMs = 200;

/** The kept answers that a filter has, the newest first, as far as they were asked for. */
export class AnswerSearch extends Store<FoundAnswers> {
  #filter: AnswerFilter | null = null;
  #asking: AbortController | null = null;
  #reading = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super({ answers: null, hasMore: false, newer: 0, error: null, isReading: false });
  }

  /** Finds the answers of a filter, unless it is the current one. What is being typed is waited for. */
  find(filter: AnswerFilter): void {
    const before = this.#filter;
    if (JSON.stringify(filter) === JSON.stringify(before)) return;
    this.#filter = filter;
    clearTimeout(this.#timer);
    const isTyped = before !== null && before.search !== filter.search;
    if (isTyped) this.#timer = setTimeout(() => void this.#read([]), typedMs);
    else void this.#read([]);
  }

  /** Reads the list anew, from its beginning. */
  async refresh(): Promise<void> {
    await this.#read([]);
  }

  /** Looks for answers that were kept since. An empty list takes them over at once. */
  async look(): Promise<void> {
    const { answers, isReading } = this.value;
    const filter = this.#filter;
    const asking = this.#asking;
    if (filter === null || answers === null || isReading || asking?.signal.aborted !== false) return;
    const query = { ...sentFilter(filter), limit: pageAnswers };
    // The page says elsewhere that the service is not reachable.
    const found = await service.keptAnswers(query, asking.signal).catch(() => null);
    if (found === null || asking !== this.#asking || filter !== this.#filter) return;
    const known = new Set(this.value.answers?.map(({ id }) => id));
    if (known.size === 0) this.set({ ...this.value, answers: found.answers, hasMore: found.has_more });
    else {
      const at = found.answers.findIndex(({ id }) => known.has(id));
      const newer = at < 0 ? found.answers.length : at;
      if (newer !== this.value.newer) this.set({ ...this.value, newer });
    }
  }

  /** Reads the next ones, if there are more. */
  async more(): Promise<void> {
    const { answers, hasMore, isReading } = this.value;
    if (answers !== null && hasMore && !isReading) this.#reading = this.#read(answers);
    await this.#reading;
  }

  /** Takes over what was said of an answer. */
  judged(id: string, said: Pick<KeptSummary, 'rating' | 'corrected'>): void {
    const { answers } = this.value;
    if (answers === null) return;
    this.set({ ...this.value, answers: answers.map((one) => (one.id === id ? { ...one, ...said } : one)) });
  }

  /** Leaves out what was deleted. */
  drop(ids: readonly string[]): void {
    const answers = this.value.answers?.filter(({ id }) => !ids.includes(id)) ?? null;
    this.set({ ...this.value, answers });
  }

  /** Ends what is being read. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#asking = null;
    this.#filter = null;
  }

  async #read(known: readonly KeptSummary[]): Promise<void> {
    if (this.#filter === null) return;
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const isMore = known.length > 0;
    if (isMore) this.set({ ...this.value, isReading: true });
    const query = { ...sentFilter(this.#filter), after: known.at(-1)?.id, limit: pageAnswers };
    try {
      const { answers, has_more: hasMore } = await service.keptAnswers(query, asking.signal);
      if (asking === this.#asking)
        this.set({
          answers: [...known, ...answers],
          hasMore,
          newer: isMore ? this.value.newer : 0,
          error: null,
          isReading: false,
        });
    } catch (error) {
      if (asking === this.#asking)
        this.set({ ...this.value, error: asServiceError(error), isReading: false });
    }
  }
}
