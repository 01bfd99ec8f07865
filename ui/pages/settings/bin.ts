import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { Bin } from '../../api/types.ts';
import { formatAgo, formatBytes } from '../../elements/format.ts';
import '../../elements/dialog.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets, evaluations, jobs, models, sweeps, toasts } from '../../state/app.ts';
import { Remote } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';

const dayMs = 24 * 3_600_000;
const daysLeft = (until: string) => {
  const days = Math.max(0, Math.ceil((Date.parse(until) - Date.now()) / dayMs));
  return days === 1 ? '1 day' : `${days} days`;
};

/** What was deleted in the last seven days: it can be restored, or deleted for good. */
@customElement('hone-bin')
export class BinList extends LightElement {
  private readonly _bin = new Remote<Bin>(service.bin);
  private readonly _action = new Action(this);
  @state() private _asked: {
    readonly heading: string;
    readonly action: string;
    readonly work: () => Promise<{ readonly message: string }>;
  } | null = null;

  constructor() {
    super();
    new Watch(this, this._bin);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this._bin.refresh();
  }

  private async _do(work: () => Promise<{ readonly message: string }>): Promise<void> {
    await this._action.run(async () => toasts.show((await work()).message));
    await this._bin.refresh();
  }

  /** Asks before what cannot be undone. */
  private _ask(heading: string, action: string, work: () => Promise<{ readonly message: string }>): void {
    this._asked = { heading, action, work };
  }

  private async _confirmed(): Promise<void> {
    const work = this._asked?.work;
    this.querySelector('dialog')?.close();
    if (work !== undefined) await this._do(work);
  }

  private _dialog(): TemplateResult | typeof nothing {
    if (this._asked === null) return nothing;
    const content = html`<p>This cannot be undone.</p>
      <div class="row end">
        <button type="button" @click=${() => this.querySelector('dialog')?.close()}>Cancel</button>
        <button type="button" class="danger" @click=${() => this._confirmed()}>${this._asked.action}</button>
      </div>`;
    return html`<hone-dialog
      heading=${this._asked.heading}
      .content=${content}
      @dismiss=${() => {
        this._asked = null;
      }}
    ></hone-dialog>`;
  }

  private async _restore(id: string): Promise<void> {
    await this._do(() => service.restore(id));
    for (const list of [datasets, evaluations, jobs, models, sweeps]) void list.refresh();
  }

  protected override render(): TemplateResult {
    const { value, error } = this._bin.value;
    if (value === null)
      return error === null ? skeleton(2) : serviceErrorPanel('Could not load the bin', error);
    const { entries, size_bytes: bytes } = value;
    return html`<p class="muted">
        What you delete stays here for seven days.
        ${entries.length === 0 ? 'The bin is empty.' : `The bin has ${formatBytes(bytes)}; the oldest goes first when disk space runs short.`}
      </p>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not change the bin', this._action.error)}
      ${entries.length === 0 ? nothing : this._table(entries)} ${this._dialog()}`;
  }

  private _table(entries: Bin['entries']): TemplateResult {
    const { busy } = this._action;
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of deleted things">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="spare">Size</th>
              <th scope="col" class="spare">Deleted</th>
              <th scope="col">Kept for</th>
              <th scope="col"><span class="off-screen">Actions</span></th>
            </tr>
          </thead>
          <tbody>
            ${entries.map(
              ({ id, kind, name, size_bytes: size, deleted_at: at, expires_at: until }) => html`<tr>
                <th scope="row" class="two-lines">${nameText(name)}<small>${kind}</small></th>
                <td class="spare">${formatBytes(size)}</td>
                <td class="spare">${formatAgo(at)}</td>
                <td>${daysLeft(until)}</td>
                <td class="right">
                  <button type="button" class="small" ?disabled=${busy} aria-label="Restore ${name}" @click=${() => this._restore(id)}>Restore</button>
                  <button
                    type="button"
                    class="small danger"
                    ?disabled=${busy}
                    aria-label="Delete ${name} for good"
                    @click=${() => this._ask(`Delete ${name} for good?`, 'Delete for good', () => service.purge(id))}
                  >
                    Delete…
                  </button>
                </td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <div class="row end">
        <button type="button" class="danger" ?disabled=${busy} @click=${() => this._ask('Empty the bin?', 'Empty the bin', service.emptyBin)}>Empty the bin…</button>
      </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-bin': BinList;
  }
}
