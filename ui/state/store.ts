import type { ReactiveController, ReactiveControllerHost } from 'lit';

type Listener = () => void;

/** Something that can be watched. */
export interface Watchable {
  subscribe(listener: Listener): () => void;
}

/** A value that tells its listeners when it is replaced. */
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

  /** Tells the listeners of a change inside the value. */
  touch(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Renders an element again whenever one of its stores changes, for as long as it is in the page. */
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
