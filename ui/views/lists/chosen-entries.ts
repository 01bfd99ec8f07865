import type { ReactiveControllerHost } from 'lit';

/** The entries of a list that are chosen. They stay so while the list shows others. */
export class ChosenEntries<T> {
  readonly #host: ReactiveControllerHost;
  readonly idOf: (entry: T) => string;
  #chosen: ReadonlyMap<string, T> = new Map();

  constructor(host: ReactiveControllerHost, idOf: (entry: T) => string) {
    this.#host = host;
    this.idOf = idOf;
  }

  get ids(): string[] {
    return [...this.#chosen.keys()];
  }

  get entries(): T[] {
    return [...this.#chosen.values()];
  }

  has(entry: T): boolean {
    return this.#chosen.has(this.idOf(entry));
  }

  /** Adds entries, or takes them out. */
  choose(entries: readonly T[], on: boolean): void {
    const next = new Map(this.#chosen);
    for (const entry of entries) {
      if (on) next.set(this.idOf(entry), entry);
      else next.delete(this.idOf(entry));
    }
    this.#set(next);
  }

  /** Takes out all but these. */
  keep(ids: readonly string[]): void {
    this.#set(new Map([...this.#chosen].filter(([id]) => ids.includes(id))));
  }

  /** Takes over what has changed of those that are chosen. */
  renew(entries: readonly T[]): void {
    if (this.#chosen.size === 0) return;
    const next = new Map(this.#chosen);
    for (const entry of entries) {
      if (next.has(this.idOf(entry))) next.set(this.idOf(entry), entry);
    }
    this.#chosen = next;
  }

  #set(next: ReadonlyMap<string, T>): void {
    this.#chosen = next;
    this.#host.requestUpdate();
  }
}
