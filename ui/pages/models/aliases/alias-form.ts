import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import { textField } from '../../../elements/fields.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { aliases, toasts } from '../../../state/app.ts';
import { modelSelect, type Target } from '../../../views/model-select.ts';

/** Makes an alias. */
@customElement('hone-alias-form')
export class AliasForm extends LightElement {
  @property({ attribute: false }) targets: readonly Target[] = [];
  /** The names that there are. */
  @property({ attribute: false }) names: readonly string[] = [];
  /** The name of the model to begin with; empty for none. */
  @property() wanted = '';
  @state() private _name = '';
  @state() private _model = '';
  private readonly _action = new Action(this);

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('wanted') && this._model === '') this._model = this.wanted;
  }

  private get _isThere(): boolean {
    return this.names.includes(this._name.trim());
  }

  private get _lacks(): boolean {
    return this._name.trim() === '' || this._model === '' || this._isThere;
  }

  private async _make(event: Event): Promise<void> {
    event.preventDefault();
    if (this._lacks) return;
    await this._action.run(async () => {
      const { name, model } = await service.moveAlias(this._name.trim(), this._model);
      toasts.show(`${name} stands for ${model}`);
      this._name = '';
      this._model = '';
      await aliases.refresh();
    });
  }

  protected override render(): TemplateResult {
    const { busy, error } = this._action;
    const fault = this._isThere ? 'There is this alias already. Move it below.' : false;
    return html`<form class="column" @submit=${this._make}>
      <div class="fields">
        ${textField(
          {
            name: 'Name',
            id: 'alias-name',
            value: this._name,
            placeholder: 'support@live',
            maxLength: 97,
            fault,
          },
          (text) => {
            this._name = text;
          },
        )}
        ${modelSelect(
          { name: 'Model', id: 'alias-model', value: this._model, targets: this.targets },
          (model) => {
            this._model = model;
          },
        )}
      </div>
      ${error === null ? nothing : serviceErrorPanel('Could not make the alias', error)}
      <div class="row end">
        <button type="submit" class="primary" ?disabled=${busy || this._lacks}>Make alias</button>
      </div>
    </form>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-alias-form': AliasForm;
  }
}
