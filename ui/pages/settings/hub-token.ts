import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { HubAccount } from '../../api/types.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { toasts } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';

/** The account on the hub, and the token by which models are downloaded and pushed. */
@customElement('hone-hub-token')
export class HubTokenForm extends LightElement {
  @state() private _account: HubAccount | ServiceError | null = null;
  @state() private _token = '';
  private readonly _action = new Action(this);

  override connectedCallback(): void {
    super.connectedCallback();
    service.hubAccount().then(
      (account) => {
        this._account = account;
      },
      (error: unknown) => {
        this._account = asServiceError(error);
      },
    );
  }

  private async _save(event: Event): Promise<void> {
    event.preventDefault();
    if (this._token.trim() === '') return;
    await this._action.run(async () => {
      this._account = await service.setHubToken(this._token);
      this._token = '';
      toasts.show('Hub token saved');
    });
  }

  private async _remove(): Promise<void> {
    await this._action.run(async () => {
      this._account = await service.removeHubToken();
      toasts.show('Hub token removed');
    });
  }

  protected override render(): TemplateResult {
    const account = this._account;
    if (account === null) return skeleton(2);
    if ('status' in account) return serviceErrorPanel('Could not read the account', account);
    return html`${this._who(account)}
      <p class="muted">
        Needed for private and gated models and datasets, and for pushing.
        ${
          account.token_from === 'environment'
            ? html`It is set by <code>HUB_TOKEN</code> in the environment of the service.`
            : 'It is kept in the data folder, readable by the user of the service alone.'
        }
      </p>
      ${account.token_from === 'environment' ? nothing : this._form(account)}
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not change the token', this._action.error)}`;
  }

  private _who({ name, organizations, problem, token_from }: HubAccount): TemplateResult {
    if (name === null && token_from === null) return html`<p>There is no hub token.</p>`;
    if (name === null) return html`<p class="wrap">${problem?.message ?? 'The account is not known.'}</p>`;
    return html`<p class="wrap">Signed in as ${nameText(name)}${
      organizations.length === 0
        ? nothing
        : html`, member of ${organizations.map((one, at) => html`${at > 0 ? ', ' : ''}${nameText(one)}`)}`
    }.</p>`;
  }

  private _form({ token_from }: HubAccount): TemplateResult {
    const { busy } = this._action;
    return html`<form class="key-form" @submit=${this._save}>
      <div class="field">
        <label for="hub-token">${token_from === null ? 'Access token' : 'New access token'}</label>
        <input
          id="hub-token"
          type="password"
          autocomplete="off"
          maxlength="512"
          placeholder="hf_…"
          .value=${this._token}
          @input=${(event: Event) => {
            this._token = (event.target as HTMLInputElement).value;
          }}
        />
      </div>
      <button type="submit" class="primary" ?disabled=${busy || this._token.trim() === ''}>
        ${busy ? 'Checking' : 'Save token'}
      </button>
      ${
        token_from === null
          ? nothing
          : html`<button type="button" ?disabled=${busy} @click=${this._remove}>Remove token</button>`
      }
    </form>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-hub-token': HubTokenForm;
  }
}
