import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import type { Import } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, progressBar } from '../../elements/parts.ts';
import { imports, latest } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';
import { importPath } from '../../state/router.ts';
import { importBadge, importShare } from '../../views/datasets/import-words.ts';

/** The imports that have not made their dataset yet, each with its progress and a link to its page. */
@customElement('hone-open-imports')
export class OpenImports extends LightElement {
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Reread(this, imports);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = latest.subscribe(() => this._take());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
  }

  /** Progress is in the frame; what else has changed, also while the page was not connected, is read. */
  private _take(): void {
    const frame = latest.value;
    if (frame?.type === 'snapshot') void imports.refresh();
    const { value } = imports.value;
    if (frame?.type !== 'import' || value === null) return;
    const isKnown = value.some(({ id, state }) => id === frame.id && state === frame.state);
    if (!isKnown) void imports.refresh();
    else {
      const now = value.map((one) => (one.id === frame.id ? { ...one, progress: frame.progress } : one));
      imports.set({ ...imports.value, value: now });
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const open = (imports.value.value ?? []).filter(({ state }) => state !== 'completed');
    if (open.length === 0) return nothing;
    return html`<section class="card" aria-labelledby="open-imports">
      <h2 id="open-imports">Imports</h2>
      <ul class="list open-imports">
        ${keyedRow(
          open,
          ({ id }) => id,
          (record) => this._entry(record),
        )}
      </ul>
    </section>`;
  }

  private _entry(record: Import): TemplateResult {
    const { id, state, source } = record;
    const isBusy = state === 'reading' || state === 'running';
    return html`<li>
      <p class="row between wrap-row">
        <a href=${importPath(id)}>${nameText(source.name)}</a>${importBadge(record)}
      </p>
      ${isBusy ? progressBar(`Import of ${source.name}`, importShare(record)) : nothing}
    </li>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-open-imports': OpenImports;
  }
}
