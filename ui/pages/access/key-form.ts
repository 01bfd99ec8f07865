import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import {
  type Budget,
  type BudgetFigure,
  budgetFigureNames,
  budgetFigures,
  type KeyScope,
  keyScopeNames,
  keyScopes,
} from '../../../src/contract/access.ts';
import { service } from '../../api/service.ts';
import type { NewKey } from '../../api/types.ts';
import { checkField, textField } from '../../elements/fields.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { accessKeys } from '../../state/session.ts';

/** Makes an access key, and shows it once. */
@customElement('hone-key-form')
export class KeyForm extends LightElement {
  @state() private _name = '';
  @state() private _scope: KeyScope = 'full';
  /** As typed. */
  @state() private _budget: Readonly<Partial<Record<BudgetFigure, string>>> = {};
  @state() private _recording = false;
  private readonly _action = new Action(this);
  @state() private _made: NewKey | null = null;

  private async _add(event: Event): Promise<void> {
    event.preventDefault();
    if (this._action.busy || this._name.trim() === '') return;
    await this._action.run(async () => {
      const { _name: name, _scope: scope, _recording: recording } = this;
      const budget = scope === 'train' ? this._written() : undefined;
      this._made = await service.addKey({ name, scope, budget, recording });
      this._name = '';
      void accessKeys.refresh();
    });
  }

  private _written(): Budget {
    const typed = Object.entries(this._budget).filter(([, text]) => text.trim() !== '');
    return Object.fromEntries(typed.map(([figure, text]) => [figure, Number(text.replaceAll(',', ''))]));
  }

  private _bounds(): TemplateResult {
    return html`<fieldset class="fields">
      <legend>Budget: at its limit, a run is saved and stopped. Leave a field empty for no limit.</legend>
      ${budgetFigureNames.map((figure) =>
        textField(
          {
            name: budgetFigures[figure].label,
            id: `key-${figure}`,
            value: this._budget[figure] ?? '',
            placeholder: 'No limit',
            maxLength: 12,
            inputMode: 'decimal',
          },
          (text) => {
            this._budget = { ...this._budget, [figure]: text };
          },
        ),
      )}
    </fieldset>`;
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
        ${this._scope === 'train' ? this._bounds() : nothing}
        ${checkField('Keep the answers to its requests', this._recording, (on) => {
          this._recording = on;
        })}
        <button type="submit" class="primary" ?disabled=${this._action.busy || this._name.trim() === ''}>Add key</button>
      </form>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not add the key', this._action.error)}
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
