import type { ReactiveController, ReactiveControllerHost } from 'lit';
import { ServiceError } from '../api/request.ts';
import { Store, Watch } from './store.ts';

/** A remote value: the last response, and the state of the latest request. */
export interface Known<T> {
  readonly value: T | null;
  readonly error: ServiceError | null;
  readonly loading: boolean;
}

/** A remote value that can be refreshed; an error keeps the last response. */
export class Remote<T> extends Store<Known<T>> {
  readonly #read: () => Promise<T>;
  #newest = 0;
  #loaded = Promise.resolve();

  constructor(read: () => Promise<T>) {
    super({ value: null, error: null, loading: false });
    this.#read = read;
  }

  /** Loads the value unless it is loaded. */
  ensure(): void {
    if (this.value.value === null && !this.value.loading) void this.refresh();
  }

  /** Replaces the value by a newer one; the answers of earlier requests are dropped. */
  put(value: T): void {
    this.#newest += 1;
    this.set({ value, error: null, loading: false });
  }

  /** Reloads the value; outdated responses are dropped. Ends when the newest request has. */
  async refresh(): Promise<void> {
    this.#newest += 1;
    const mine = this.#newest;
    this.set({ ...this.value, loading: true });
    this.#loaded = this.#load(mine);
    for (let waited = null; waited !== this.#loaded; await waited) waited = this.#loaded;
  }

  async #load(mine: number): Promise<void> {
    try {
      const value = await this.#read();
      if (mine === this.#newest) this.set({ value, error: null, loading: false });
    } catch (error) {
      if (mine === this.#newest) this.set({ ...this.value, error: asServiceError(error), loading: false });
    }
  }
}

/** A remote value that is read only for those that watch it: a list that may be long. */
export class WatchedRemote<T> extends Remote<T> {
  #isDue = false;

  /** Reads it again, or as soon as something watches it. */
  renew(): void {
    if (this.isWatched) void this.refresh();
    else this.#isDue = true;
  }

  override async refresh(): Promise<void> {
    this.#isDue = false;
    await super.refresh();
  }

  override subscribe(listener: () => void): () => void {
    const end = super.subscribe(listener);
    if (this.#isDue) void this.refresh();
    return end;
  }
}

/** Updates an element whenever one of its remote values changes, and reads these again whenever it is connected. */
export class Reread implements ReactiveController {
  readonly #remotes: readonly Remote<unknown>[];

  constructor(host: ReactiveControllerHost, ...remotes: readonly Remote<unknown>[]) {
    this.#remotes = remotes;
    new Watch(host, ...remotes);
    host.addController(this);
  }

  hostConnected(): void {
    for (const remote of this.#remotes) void remote.refresh();
  }
}

/** Converts anything thrown to a ServiceError. */
export function asServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return new ServiceError(0, thrown instanceof Error ? thrown.message : text, text);
}
