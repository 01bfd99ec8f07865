import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets, toasts } from '../../state/app.ts';
import { draft } from '../../state/drafts/draft.ts';

const ending = '.jsonl';

/** The dialog that renames a dataset. Fires `renamed` with its new name. */
@customElement('hone-rename-dialog')
export class RenameDialog extends LightElement {
  @property() name = '';
  @state() private _stem: string | null = null;
  private readonly _action = new Action(this);

  private async _rename(event: Event): Promise<void> {
    event.preventDefault();
    const { name, _stem: stem } = this;
    if (stem === null || stem.trim() === '') return;
    await this._action.run(async () => {
      const { filename } = await service.renameDataset(name, stem.trim() + ending);
      if (draft.value.dataset === name) draft.change({ dataset: filename });
      if (draft.value.validationDataset === name) draft.change({ validationDataset: filename });
      await datasets.refresh();
      toasts.show(`${name} is ${filename} now.`);
      this.querySelector('dialog')?.close();
      this.dispatchEvent(new CustomEvent('renamed', { detail: filename }));
    });
  }

  protected override render(): TemplateResult {
    const stem = this._stem ?? this.name.slice(0, -ending.length);
    const content = html`<form @submit=${(event: Event) => this._rename(event)}>
      <div class="field">
        <label for="dataset-name">Name</label>
        <input
          id="dataset-name"
          autocomplete="off"
          spellcheck="false"
          maxlength="100"
          autofocus
          aria-describedby="dataset-name-hint"
          .value=${stem}
          @input=${(event: Event) => {
            this._stem = (event.target as HTMLInputElement).value;
          }}
        />
        <p class="hint" id="dataset-name-hint">
          Letters, digits, “.”, “_” and “-”. Runs that were trained on it, and links, still find it.
        </p>
      </div>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not rename the dataset', this._action.error)}
      <div class="row end">
        <button type="submit" class="primary" ?disabled=${this._action.busy || stem.trim() === ''}>Rename</button>
      </div>
    </form>`;
    return html`<hone-dialog heading="Rename ${this.name}" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-rename-dialog': RenameDialog;
  }
}
