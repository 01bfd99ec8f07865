import { html, nothing, type TemplateResult } from 'lit';
import { info } from '../../elements/info/info.ts';
import { router } from '../../state/app.ts';

/** The order of a list, by one of its columns. */
export interface Order {
  readonly key: string;
  readonly down: boolean;
}

/** What is looked at from the highest down. */
const highFirst: readonly string[] = ['gain', 'score'];

/** The order of a list, which the address holds: `sort=size`, or `sort=-size` from high to low. */
export class ListOrder {
  readonly #keys: readonly string[];
  readonly #usual: Order;
  readonly #changed: () => void;

  /**
   * @param keys the columns that it can be ordered by.
   * @param usual the order until another is chosen.
   * @param changed is called after a choice.
   */
  constructor(keys: readonly string[], usual: Order, changed: () => void = () => {}) {
    this.#keys = keys;
    this.#usual = usual;
    this.#changed = changed;
  }

  get now(): Order {
    const asked = router.value.query.get('sort') ?? '';
    const key = asked.replace(/^-/, '');
    return this.#keys.includes(key) ? { key, down: asked.startsWith('-') } : this.#usual;
  }

  /** As the address holds it; empty for the usual one. */
  get text(): string {
    return this.#textOf(this.now);
  }

  /** Entries in this order, with unknown values (`null`) last. @param by an entry's value in a column. */
  sort<T>(entries: readonly T[], by: (entry: T, key: string) => string | number | null): T[] {
    const { key, down } = this.now;
    const valued = entries.map((entry) => ({ entry, value: by(entry, key) }));
    valued.sort(({ value: a }, { value: b }) => {
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
    });
    return valued.map(({ entry }) => entry);
  }

  /** The heading of a column, which orders the list by it. */
  heading(key: string, name: string, classes = ''): TemplateResult {
    const now = this.now;
    const isIt = now.key === key;
    const next = { key, down: isIt ? !now.down : highFirst.includes(key) };
    return html`<th
      scope="col"
      class=${classes}
      aria-sort=${isIt ? (now.down ? 'descending' : 'ascending') : nothing}
    >
      <button type="button" class="sort" @click=${() => this.#change(next)}>
        ${name}<span aria-hidden="true">${isIt ? (now.down ? ' ↓' : ' ↑') : ''}</span>
      </button>${info(name)}
    </th>`;
  }

  #textOf({ key, down }: Order): string {
    const isUsual = key === this.#usual.key && down === this.#usual.down;
    return isUsual ? '' : `${down ? '-' : ''}${key}`;
  }

  #change(order: Order): void {
    const query = new URLSearchParams(router.value.query);
    const text = this.#textOf(order);
    if (text === '') query.delete('sort');
    else query.set('sort', text);
    const asked = query.toString();
    router.go(`${location.pathname}${asked === '' ? '' : `?${asked}`}`, { replace: true });
    this.#changed();
  }
}
