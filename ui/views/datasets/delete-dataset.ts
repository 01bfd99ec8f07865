import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { datasets, toasts } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';

/** The dialog that deletes a dataset. Fires `deleted` when it is gone, and `dismiss` when the dialog is closed. */
@customElement('hone-delete-dataset')
export class DeleteDataset extends LitElement {
  @property() name = '';
  @state() private _busy = false;
  @state() private _error: ServiceError | null = null;

  protected override createRenderRoot(): this {
    return this;
  }

  private _close(): void {
    this.querySelector('dialog')?.close();
  }

  private async _delete(): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    this._error = null;
    try {
      toasts.show((await service.removeDataset(this.name)).message);
      this.dispatchEvent(new CustomEvent('deleted'));
      this._close();
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
      void datasets.refresh();
    }
  }

  protected override render(): TemplateResult {
    const content = html`<p>The file is permanently deleted. Runs keep their own copy of the rows.</p>
      ${this._error === null ? nothing : serviceErrorPanel('Could not delete the dataset', this._error)}
      <div class="row end">
        <button type="button" @click=${() => this._close()}>Cancel</button>
        <button type="button" class="danger" ?disabled=${this._busy} @click=${() => this._delete()}>Delete dataset</button>
      </div>`;
    return html`<hone-dialog heading="Delete ${this.name}?" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-delete-dataset': DeleteDataset;
  }
}
