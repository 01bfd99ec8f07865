import type { ReactiveControllerHost } from 'lit';
import type { ServiceError } from '../api/request.ts';
import { asServiceError } from './remote.ts';

/** What an element asks of the service, one request at a time: whether one is underway, and why the last one failed. */
export class Action {
  readonly #host: Pick<ReactiveControllerHost, 'requestUpdate'>;
  #busy = false;
  #error: ServiceError | null = null;

  constructor(host: Pick<ReactiveControllerHost, 'requestUpdate'>) {
    this.#host = host;
  }

  get busy(): boolean {
    return this.#busy;
  }

  get error(): ServiceError | null {
    return this.#error;
  }

  /** Forgets the last error. */
  clear(): void {
    this.#error = null;
    this.#host.requestUpdate();
  }

  /** Does `work` unless something is underway; never rejects. */
  async run(work: () => Promise<unknown>): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    this.clear();
    try {
      await work();
    } catch (error) {
      this.#error = asServiceError(error);
    } finally {
      this.#busy = false;
      this.#host.requestUpdate();
    }
  }
}
