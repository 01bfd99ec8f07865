import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { LightElement } from '../../elements/light-element.ts';
import { connection } from '../../state/app.ts';
import { hubAway } from '../../state/hub-away.ts';
import { Watch } from '../../state/store.ts';

/** Says that the service, or the hub, cannot be reached, and what that means; nothing else on the page has to. */
@customElement('hone-away-banner')
export class AwayBanner extends LightElement {
  constructor() {
    super();
    new Watch(this, connection, hubAway);
  }

  protected override render(): TemplateResult {
    const words = this._words();
    return html`<div role="status">${words === nothing ? nothing : html`<p class="banner calm">${words}</p>`}</div>`;
  }

  private _words(): TemplateResult | typeof nothing {
    const { value } = connection;
    if (value.state === 'stale') {
      const clock = new Date(value.since).toLocaleTimeString('en-GB', { timeStyle: 'short' });
      return html`<b>Hone has not answered since ${clock}.</b> Running trainings continue. Start it again with “npm start”; this
        page reconnects by itself, and shows what was known until then.`;
    }
    return hubAway.value
      ? html`<b>The hub cannot be reached.</b> Models and datasets on this machine work as always.`
      : nothing;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-away-banner': AwayBanner;
  }
}
