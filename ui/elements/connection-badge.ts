import { html, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { connection } from '../state/app.ts';
import { Watch } from '../state/store.ts';
import { LightElement } from './light-element.ts';

/** Whether the data is live, or since when it is stale. */
@customElement('hone-connection')
export class ConnectionBadge extends LightElement {
  constructor() {
    super();
    new Watch(this, connection);
  }

  private _words(): string {
    const { value } = connection;
    if (value.state === 'live') return 'Live';
    if (value.state === 'connecting') return 'Connecting';
    const clock = new Date(value.since).toLocaleTimeString('en-GB', { timeStyle: 'medium' });
    return value.state === 'stale' ? `Stale since ${clock}` : 'Reconnecting';
  }

  protected override render(): TemplateResult {
    return html`<span class="connection" role="status" data-state=${connection.value.state}>
      <i aria-hidden="true"></i>${this._words()}
    </span>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-connection': ConnectionBadge;
  }
}
