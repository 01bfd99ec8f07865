import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { AccessMode } from '../../../src/contract/access.ts';
import type { Session } from '../../api/types.ts';
import { nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { toasts } from '../../state/app.ts';
import { asServiceError, Reread } from '../../state/remote.ts';
import { session, signOut } from '../../state/session.ts';
import './key-form.ts';
import './key-list.ts';
import { LightElement } from '../../elements/light-element.ts';

const modes: Readonly<Record<AccessMode, string>> = {
  auto: 'Programs and browsers on the machine of this service need no key; all others do.',
  key: 'Everyone needs a key, also on the machine of this service.',
  open: 'Nobody needs a key.',
};

/** Who may use the service: its mode, this browser's session, and the access keys. */
@customElement('hone-access')
export class AccessPage extends LightElement {
  @state() private _busy = false;

  constructor() {
    super();
    new Reread(this, session);
  }

  private async _signOut(): Promise<void> {
    this._busy = true;
    try {
      await signOut();
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
      this._busy = false;
    }
  }

  protected override render(): TemplateResult {
    const { value, error } = session.value;
    return html`<div class="page">
      <h1>Access</h1>
      <section class="card" aria-labelledby="who">
        <h2 id="who">Who needs a key</h2>
        ${
          value !== null
            ? this._session(value)
            : error === null
              ? skeleton(2)
              : serviceErrorPanel('Could not read the access mode', error)
        }
      </section>
      <hone-key-form></hone-key-form>
      <hone-key-list></hone-key-list>
    </div>`;
  }

  private _session({ access, signed_in, key_name }: Session): TemplateResult {
    return html`<p>
        ${modes[access]}
        <span class="muted">Start the service with <code>--access auto</code>, <code>key</code> or <code>open</code> to change it.</span>
      </p>
      ${
        signed_in
          ? html`<p class="row between wrap-row">
              <span>This browser is signed in with the key ${nameText(key_name ?? '')}.</span>
              <button type="button" ?disabled=${this._busy} @click=${() => this._signOut()}>Sign out</button>
            </p>`
          : nothing
      }`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-access': AccessPage;
  }
}
