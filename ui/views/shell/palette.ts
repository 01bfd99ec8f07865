import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { Job } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText } from '../../elements/parts.ts';
import { datasets, jobs, models } from '../../state/app.ts';
import { paced } from '../../state/runs/pace.ts';
import { Watch } from '../../state/store.ts';
import { type Entry, findEntries } from './find-entries.ts';
import { isPaletteKey } from './keys.ts';
import { paletteEntries } from './palette-entries.ts';

/** How many results are drawn. */
const mostShown = 50;
/** How often the service is asked for runs that are not among the newest, while a query is typed. */
const askMs = 250;

/** Searches actions, pages, runs, models and datasets by name, and goes to the chosen one. Fires `dismiss` when closed. */
@customElement('hone-palette')
export class Palette extends LightElement {
  @state() private _query = '';
  /** The key of the active result; `null` is the first. */
  @state() private _active: string | null = null;
  /** Runs that the service has found, older than the newest. */
  @state() private _older: ReadonlyMap<string, Job> = new Map();
  private _entries: readonly Entry[] = [];
  private _of: readonly unknown[] = [];
  private _asking: AbortController | null = null;
  private readonly _pace = paced(() => void this._ask(), askMs);

  constructor() {
    super();
    new Watch(this, datasets, jobs, models);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // There are no frames for datasets, which another tab or program may have changed.
    void datasets.refresh();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._pace.cancel();
    this._asking?.abort();
  }

  protected override firstUpdated(): void {
    this.querySelector('dialog')?.showModal();
  }

  protected override updated(): void {
    this.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }

  /** What can be found now. */
  private _all(): readonly Entry[] {
    const of = [jobs.value.value, models.value.value, datasets.value.value, this._older] as const;
    if (of.some((one, index) => one !== this._of[index])) {
      const newest = of[0]?.jobs ?? [];
      const known = new Set(newest.map(({ job_id }) => job_id));
      const older = [...this._older.values()].filter(({ job_id }) => !known.has(job_id));
      this._entries = paletteEntries([...newest, ...older], of[1] ?? [], of[2] ?? []);
      this._of = of;
    }
    return this._entries;
  }

  /** Asks for runs that are not among the newest. */
  private async _ask(): Promise<void> {
    this._asking?.abort();
    const asking = new AbortController();
    this._asking = asking;
    try {
      const found = await service.jobs({ search: this._query.trim(), limit: mostShown }, asking.signal);
      this._older = new Map([...this._older, ...found.jobs.map((job) => [job.job_id, job] as const)]);
    } catch {
      // Those that are known are found all the same.
    }
  }

  private _type(event: Event): void {
    this._query = (event.target as HTMLInputElement).value;
    this._active = null;
    const newest = jobs.value.value;
    if (this._query.trim() !== '' && newest !== null && newest.jobs.length < newest.total) this._pace.ask();
  }

  private _key(event: KeyboardEvent, shown: readonly Entry[], active: number): void {
    // These keys may still belong to an input method.
    if (event.isComposing) return;
    if (isPaletteKey(event)) {
      event.preventDefault();
      this._close();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const last = shown.length - 1;
    const next: Readonly<Record<string, number>> = {
      ArrowDown: active === last ? 0 : active + 1,
      ArrowUp: active === 0 ? last : active - 1,
      Home: 0,
      End: last,
    };
    const entry = shown[next[event.key] ?? active];
    if (entry === undefined || (event.key !== 'Enter' && next[event.key] === undefined)) return;
    event.preventDefault();
    if (event.key === 'Enter') this._choose(entry);
    else this._active = entry.key;
  }

  private _close(): void {
    this.querySelector('dialog')?.close();
    // The event of the dialog comes later, and a key that opens the palette again may be pressed before.
    this._closed();
  }

  private readonly _closed = (): void => {
    if (this.isConnected) this.dispatchEvent(new CustomEvent('dismiss'));
  };

  private _choose(entry: Entry): void {
    this._close();
    entry.choose();
  }

  /** A press beside the dialog closes it: it holds nothing that could be lost. */
  private _press(event: MouseEvent): void {
    if (event.target === event.currentTarget) this._close();
  }

  protected override render(): TemplateResult {
    const found = findEntries(this._all(), this._query.slice(0, 200));
    const shown = found.slice(0, mostShown);
    const active = Math.max(
      0,
      shown.findIndex(({ key }) => key === this._active),
    );
    return html`<dialog
      class="palette"
      aria-label="Search"
      @mousedown=${this._press}
      @close=${this._closed}
    >
      <div class="palette-body">
        <input
          type="text"
          role="combobox"
          aria-label="Search pages, actions, runs, models and datasets"
          placeholder="Search runs, models, datasets, pages"
          autocomplete="off"
          autocapitalize="off"
          spellcheck="false"
          dir="auto"
          autofocus
          aria-autocomplete="list"
          aria-expanded=${shown.length > 0 ? 'true' : 'false'}
          aria-controls="palette-results"
          aria-activedescendant=${shown.length > 0 ? `palette-${active}` : nothing}
          .value=${this._query}
          @input=${this._type}
          @keydown=${(event: KeyboardEvent) => this._key(event, shown, active)}
        />
        <ul
          class="palette-results"
          id="palette-results"
          role="listbox"
          aria-label="Results"
          ?hidden=${shown.length === 0}
          @mousedown=${(event: Event) => event.preventDefault()}
        >
          ${keyedRow(
            shown.entries(),
            ([, { key }]) => key,
            ([index, entry]) => this._option(entry, index, index === active),
          )}
        </ul>
        <p class="palette-count muted" role="status">${this._count(shown.length, found.length)}</p>
      </div>
    </dialog>`;
  }

  private _option(entry: Entry, index: number, isActive: boolean): TemplateResult {
    const { kind, name, details } = entry;
    return html`<li
      id="palette-${index}"
      role="option"
      aria-selected=${isActive ? 'true' : 'false'}
      @click=${() => this._choose(entry)}
    >
      <span class="palette-name">${nameText(name)}</span>
      ${
        details.length === 0
          ? nothing
          : html`<small class="palette-details">${details.map((detail, at) => html`${at > 0 ? ' · ' : nothing}<bdi>${detail}</bdi>`)}</small>`
      }
      <span class="tag">${kind}</span>
    </li>`;
  }

  /** How many results there are, and what is not among them. */
  private _count(shown: number, found: number): string {
    const lists = [
      ['runs', jobs],
      ['models', models],
      ['datasets', datasets],
    ] as const;
    const missing = lists.filter(([, { value }]) => value.value === null);
    const names = (isFaulty: boolean) =>
      missing
        .filter(([, { value }]) => (value.error !== null) === isFaulty)
        .map(([name]) => name)
        .join(', ');
    return [
      found === 0 ? 'Nothing found' : found === 1 ? '1 result' : `${found.toLocaleString('en')} results`,
      shown < found ? `the first ${shown} are shown` : '',
      names(false) === '' ? '' : `reading ${names(false)}`,
      names(true) === '' ? '' : `could not read ${names(true)}`,
    ]
      .filter(Boolean)
      .join(' · ');
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-palette': Palette;
  }
}
