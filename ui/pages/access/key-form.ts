import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { type KeyScope, keyScopeNames, keyScopes } from '../../../src/contract/access.ts';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { NewKey } from '../../api/types.ts';
import { textField } from '../../elements/fields.ts';
import { nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { asServiceError } from '../../state/remote.ts';
import { accessKeys } from '../../state/session.ts';

/** Makes an access key, and shows it once. */
@customElement('hone-key-form')
export class KeyForm extends LitElement {
  @state() private _name = '';
  @state() private _scope: KeyScope = 'full';
  @state() private _busy = false;
  @state() private _error: ServiceError | null = null;
  @state() private _made: NewKey | null = null;

  protected override createRenderRoot(): this {
    return this;
  }

  private async _add(event: Event): Promise<void> {
    event.preventDefault();
    if (this._busy || this._name.trim() === '') return;
    this._busy = true;
    this._error = null;
    try {
      this._made = await service.addKey({ name: this._name, scope: this._scope });
      this._name = '';
      void accessKeys.refresh();
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }

  protected override render(): TemplateResult {
    return html`<section class="card" aria-labelledby="new-key">
      <h2 id="new-key">New access key</h2>
      <form class="key-form" @submit=${this._add}>
        ${textField(
          {
            name: 'Name',
            id: 'key-name',
            value: this._name,
            placeholder: 'The device or program that will use it',
            maxLength: 64,
          },
          (text) => {
            this._name = text;
          },
        )}
        <div class="field">
          <label for="key-scope">Scope</label>
          <select
            id="key-scope"
            @change=${(event: Event) => {
              this._scope = (event.target as HTMLSelectElement).value as KeyScope;
            }}
          >
            ${keyScopeNames.map(
              (scope) =>
                html`<option value=${scope} ?selected=${scope === this._scope}>${keyScopes[scope].label}</option>`,
            )}
          </select>
        </div>
        <button type="submit" class="primary" ?disabled=${this._busy || this._name.trim() === ''}>Add key</button>
      </form>
      ${this._error === null ? nothing : serviceErrorPanel('Could not add the key', this._error)}
      ${this._made === null ? nothing : this._shown(this._made)}
    </section>`;
  }

  private _shown({ name, key }: NewKey): TemplateResult {
    return html`<div class="new-key" role="status">
      <p>The key ${nameText(name)} is shown only now. Copy it before you leave this page.</p>
      <div class="path">
        <code class="wrap">${key}</code>
        <hone-copy .text=${key} label="Copy key"></hone-copy>
      </div>
      <p>
        <button
          type="button"
          class="small"
          @click=${() => {
            this._made = null;
          }}
        >
          Done
        </button>
      </p>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-key-form': KeyForm;
  }
}
