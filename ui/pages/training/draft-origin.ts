import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { FieldFault } from '../../api/request.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText } from '../../elements/parts.ts';
import { draftRequest } from '../../settings/draft-request.ts';
import { fillFrom } from '../../settings/fill-from.ts';
import { readSettingsFile, saveSettings, settingsFileBytes } from '../../settings/settings-file.ts';
import { datasets } from '../../state/app.ts';
import { draft } from '../../state/drafts/draft.ts';
import { type DraftOrigin, draftOrigin } from '../../state/drafts/draft-origin.ts';
import { Watch } from '../../state/store.ts';

/** Above the training form: where its settings came from, what of them no longer exists, and files of settings. */
@customElement('hone-draft-origin')
export class DraftOriginView extends LightElement {
  @state() private _faults: readonly FieldFault[] = [];
  @state() private _file = '';

  constructor() {
    super();
    new Watch(this, draft, draftOrigin, datasets);
  }

  private async _import(event: Event): Promise<void> {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    // The same file may be chosen again.
    const clear = () => {
      input.value = '';
    };
    if (file === undefined) return;
    this._file = file.name;
    draftOrigin.set(null);
    const read =
      file.size > settingsFileBytes
        ? { faults: [{ field: '', message: 'The file is larger than 1 MB, so it is not one of settings.' }] }
        : readSettingsFile(await file.text());
    clear();
    if ('faults' in read) {
      this._faults = read.faults;
      return;
    }
    this._faults = [];
    fillFrom(read.request, file.name, null);
  }

  private _export(): void {
    const { dataset, model } = draft.value;
    saveSettings([dataset.replace(/\.jsonl$/i, ''), model].filter(Boolean).join(' '), draftRequest());
  }

  protected override render(): TemplateResult {
    return html`<div class="draft-origin">
      <div class="row wrap-row">
        <label class="button small file-button">
          Import settings…
          <input
            type="file"
            class="off-screen"
            accept=".json,application/json"
            @change=${(event: Event) => void this._import(event)}
          />
        </label>
        <button type="button" class="small" @click=${this._export}>Export settings</button>
      </div>
      <div role="status">${draftOrigin.value === null ? nothing : this._origin(draftOrigin.value)}</div>
      ${this._faults.length === 0 ? nothing : this._refusal()}
    </div>`;
  }

  private _origin(origin: DraftOrigin): TemplateResult {
    const known = datasets.value.value;
    const isGone = (name: string) =>
      name !== '' &&
      !/[/\\]/.test(name) &&
      known !== null &&
      !known.some(({ filename }) => filename === name);
    const { dataset, validationDataset } = draft.value;
    const gone = [
      { what: 'dataset', name: origin.dataset, chosen: dataset },
      { what: 'validation dataset', name: origin.validationDataset, chosen: validationDataset },
    ].filter(({ name, chosen }) => isGone(name) && (chosen === '' || chosen === name));
    return html`<p class="note">
        Filled with the settings of
        ${origin.path === null ? nameText(origin.name) : html`<a href=${origin.path}>${nameText(origin.name)}</a>`}.
        <button type="button" class="link" @click=${() => draftOrigin.set(null)}>Dismiss</button>
      </p>
      ${gone.map(
        ({ what, name }) => html`<p class="fault">
          Its ${what} ${nameText(name)} no longer exists here. Choose another one, or upload it again under that name.
        </p>`,
      )}`;
  }

  private _refusal(): TemplateResult {
    return html`<div class="panel-error" role="alert">
      <p class="panel-title">${nameText(this._file)} was not imported</p>
      <ul class="list">
        ${this._faults.map(({ field, message }) => html`<li>${field === '' ? nothing : html`<code>${field}</code> `}${message}</li>`)}
      </ul>
      <p>Correct the file, and import it again. The form was not changed.</p>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-draft-origin': DraftOriginView;
  }
}
