import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import '../../../elements/dialog.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { toasts } from '../../../state/app.ts';

/** The dialog that deletes a base model. Fires `deleted` when it is gone, and `dismiss` when the dialog is closed. */
@customElement('hone-delete-base-model')
export class DeleteBaseModel extends LightElement {
  @property() model = '';
  private readonly _action = new Action(this);

  private _close(): void {
    this.querySelector('dialog')?.close();
  }

  private _delete(): Promise<void> {
    return this._action.run(async () => {
      toasts.show((await service.removeBaseModel(this.model)).message);
      this.dispatchEvent(new CustomEvent('deleted'));
      this._close();
    });
  }

  protected override render(): TemplateResult {
    const { error, busy } = this._action;
    const content = html`<p>
        It is deleted from the hub cache, which other programs may share. Trained models stay; what needs the base
        again downloads it.
      </p>
      ${error === null ? nothing : serviceErrorPanel('Could not delete the model', error)}
      <div class="row end">
        <button type="button" @click=${() => this._close()}>Cancel</button>
        <button type="button" class="danger" ?disabled=${busy} @click=${() => this._delete()}>Delete model</button>
      </div>`;
    return html`<hone-dialog heading="Delete ${this.model}?" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-delete-base-model': DeleteBaseModel;
  }
}
