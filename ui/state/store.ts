import type { ReactiveController, ReactiveControllerHost } from 'lit';

type Listener = () => void;

/** An observable. */
export interface Watchable {
  subscribe(listener: Listener): () => void;
}

/** A value that notifies its listeners when replaced. */
export class Store<T> implements Watchable {
  #value: T;
  readonly #listeners = new Set<Listener>();

  constructor(initial: T) {
    this.#value = initial;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.touch();
  }

  /** Notifies the listeners of a change within the value. */
  touch(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Whether something listens. */
  protected get isWatched(): boolean {
    return this.#listeners.size > 0;
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Updates an element whenever one of its stores changes, while it is connected. */
export class Watch implements ReactiveController {
  readonly #host: ReactiveControllerHost;
  readonly #stores: readonly Watchable[];
  #ends: (() => void)[] = [];

  constructor(host: ReactiveControllerHost, ...stores: readonly Watchable[]) {
    this.#host = host;
    this.#stores = stores;
    host.addController(this);
  }

  hostConnected(): void {
    this.#ends = this.#stores.map((store) => store.subscribe(() => this.#host.requestUpdate()));
    this.#host.requestUpdate();
  }

  hostDisconnected(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
  }
}
