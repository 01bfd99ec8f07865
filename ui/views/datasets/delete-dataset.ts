import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets } from '../../state/app.ts';
import { tellDeletion } from '../../state/tell-deletion.ts';

/** The dialog that deletes a dataset. Fires `deleted` when it is gone, and `dismiss` when the dialog is closed. */
@customElement('hone-delete-dataset')
export class DeleteDataset extends LightElement {
  @property() name = '';
  private readonly _action = new Action(this);

  private _close(): void {
    this.querySelector('dialog')?.close();
  }

  private async _delete(): Promise<void> {
    await this._action.run(async () => {
      tellDeletion(await service.removeDataset(this.name), () => datasets.refresh());
      this.dispatchEvent(new CustomEvent('deleted'));
      this._close();
    });
    void datasets.refresh();
  }

  protected override render(): TemplateResult {
    const content = html`<p>It is kept in the bin for seven days. Runs keep their own copy of the rows.</p>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not delete the dataset', this._action.error)}
      <div class="row end">
        <button type="button" @click=${() => this._close()}>Cancel</button>
        <button type="button" class="danger" ?disabled=${this._action.busy} @click=${() => this._delete()}>Delete dataset</button>
      </div>`;
    return html`<hone-dialog heading="Delete ${this.name}?" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-delete-dataset': DeleteDataset;
  }
}
