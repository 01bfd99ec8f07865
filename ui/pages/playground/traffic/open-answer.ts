import type { ServiceError } from '../../../api/request.ts';
import { service } from '../../../api/service.ts';
import type { KeptAnswer, KeptSummary } from '../../../api/types.ts';
import { asServiceError } from '../../../state/remote.ts';
import { Store } from '../../../state/store.ts';

export interface Opened {
  /** Empty if none is open. */
  readonly id: string;
  /** The last one that was read, while the next one is on its way. */
  readonly answer: KeptAnswer | null;
  readonly error: ServiceError | null;
}

/** The kept answer that is shown as a whole. */
export class OpenAnswer extends Store<Opened> {
  constructor() {
    super({ id: '', answer: null, error: null });
  }

  /** Reads an answer, unless it is the one that is shown. */
  show(id: string): void {
    if (id === this.value.id) return;
    this.set({ id, answer: id === '' ? null : this.value.answer, error: null });
    if (id !== '') void this.#read(id);
  }

  /** The rating of the answer, as far as it is known here. */
  ratingOf(id: string): KeptSummary['rating'] | undefined {
    const { answer } = this.value;
    return answer?.id === id ? answer.rating : undefined;
  }

  /** Says what people think of an answer. @returns what is now said of it. */
  async judge(
    id: string,
    said: { readonly rating?: KeptSummary['rating']; readonly correction?: string | null },
  ): Promise<Pick<KeptSummary, 'rating' | 'corrected'>> {
    const { rating, correction } = (await service.judgeAnswer(id, said)).feedback;
    const { answer } = this.value;
    if (answer?.id === id) this.set({ ...this.value, answer: { ...answer, rating, correction } });
    return { rating, corrected: correction !== null };
  }

  async #read(id: string): Promise<void> {
    try {
      const answer = await service.keptAnswer(id);
      if (id === this.value.id) this.set({ id, answer, error: null });
    } catch (error) {
      if (id === this.value.id) this.set({ id, answer: null, error: asServiceError(error) });
    }
  }
}
