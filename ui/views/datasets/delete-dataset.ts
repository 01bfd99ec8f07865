import { html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import { LightElement } from '../../elements/light-element.ts';
import { Action } from '../../state/action.ts';
import { datasets } from '../../state/app.ts';
import { tellDeletion } from '../../state/tell-deletion.ts';
import { deletion } from '../deletion.ts';

/** The dialog that deletes a dataset. Fires `deleted` when it is gone, and `dismiss` when the dialog is closed. */
@customElement('hone-delete-dataset')
export class DeleteDataset extends LightElement {
  @property() name = '';
  private readonly _action = new Action(this);

  private _close(): void {
    this.querySelector('dialog')?.close();
  }

  private async _delete(permanently: boolean): Promise<void> {
    await this._action.run(async () => {
      tellDeletion(await service.removeDataset(this.name, permanently), () => datasets.refresh());
      this.dispatchEvent(new CustomEvent('deleted'));
      this._close();
    });
    void datasets.refresh();
  }

  protected override render(): TemplateResult {
    const content = deletion({
      noun: 'dataset',
      consequence: 'It is kept in the bin for seven days. Runs keep their own copy of the rows.',
      busy: this._action.busy,
      error: this._action.error,
      remove: (permanently) => this._delete(permanently),
      close: () => this._close(),
    });
    return html`<hone-dialog heading="Delete ${this.name}?" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-delete-dataset': DeleteDataset;
  }
}
