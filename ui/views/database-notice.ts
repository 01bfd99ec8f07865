import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { LightElement } from '../elements/light-element.ts';
import { info } from '../state/app.ts';
import { readStored, writeStored } from '../state/local-storage.ts';
import { Watch } from '../state/store.ts';

const key = 'dismissed-notice';

/** What happened to the database at the start, for example that a backup was used; until the user dismisses it. */
@customElement('hone-database-notice')
export class DatabaseNotice extends LightElement {
  @state() private _dismissed = readStored(key, '');

  constructor() {
    super();
    new Watch(this, info);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    info.ensure();
  }

  private _dismiss(notice: string): void {
    this._dismissed = notice;
    writeStored(key, notice);
  }

  protected override render(): TemplateResult | typeof nothing {
    const notice = info.value.value?.database_notice;
    if (notice === undefined || notice === this._dismissed) return nothing;
    return html`<section class="banner row between" aria-label="Notice of the database">
      <p class="wrap"><bdi>${notice}</bdi></p>
      <button type="button" class="small" @click=${() => this._dismiss(notice)}>Dismiss</button>
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-database-notice': DatabaseNotice;
  }
}
