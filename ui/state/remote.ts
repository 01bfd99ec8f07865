import { ServiceError } from '../api/request.ts';
import { Store } from './store.ts';

/** What is known of something that the service keeps: the last answer, and how the newest ask fared. */
export interface Known<T> {
  readonly value: T | null;
  readonly error: ServiceError | null;
  readonly loading: boolean;
}

/** A value of the service that can be asked for again; an error leaves the last answer standing. */
export class Remote<T> extends Store<Known<T>> {
  readonly #read: () => Promise<T>;
  #newest = 0;

  constructor(read: () => Promise<T>) {
    super({ value: null, error: null, loading: false });
    this.#read = read;
  }

  /** Asks once, where there is no answer yet. */
  ensure(): void {
    if (this.value.value === null && !this.value.loading) void this.refresh();
  }

  /** Asks again; an answer that is overtaken by a newer ask is dropped. */
  async refresh(): Promise<void> {
    this.#newest += 1;
    const mine = this.#newest;
    this.set({ ...this.value, loading: true });
    try {
      const value = await this.#read();
      if (mine === this.#newest) this.set({ value, error: null, loading: false });
    } catch (error) {
      if (mine === this.#newest) this.set({ ...this.value, error: asServiceError(error), loading: false });
    }
  }
}

/** Anything thrown, as an error that can be shown. */
export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return new ServiceError(0, thrown instanceof Error ? thrown.message : text, text);
}
