import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Analysis } from '../../api/types.ts';
import { KeepFocus } from '../../elements/keep-focus.ts';
import { LightElement } from '../../elements/light-element.ts';
import { progressBar, serviceErrorPanel } from '../../elements/parts.ts';
import { analysed, datasets, settings } from '../../state/app.ts';
import { draft } from '../../state/drafts/draft.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';
import { analysisResult } from './analysis-result.ts';

/** Analyses a dataset: lengths in tokens of a model, duplicates, overlap with a validation dataset, empty answers. */
@customElement('hone-dataset-analysis')
export class DatasetAnalysis extends LightElement {
  @property() name = '';
  @property() shape: string | null = null;
  @state() private _result: Analysis | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _asking: AbortController | null = null;
  private _of = '';

  constructor() {
    super();
    new Watch(this, analysed, datasets, settings);
    new KeepFocus(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    settings.ensure();
    datasets.ensure();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._asking?.abort();
  }

  protected override willUpdate(): void {
    if (this._of === this.name) return;
    this._of = this.name;
    this._asking?.abort();
    this._result = null;
    this._error = null;
  }

  private async _analyse(event: Event): Promise<void> {
    event.preventDefault();
    if (this._asking !== null) return;
    const form = new FormData(event.target as HTMLFormElement);
    const text = (field: string) => String(form.get(field) ?? '').trim();
    const length = Number(text('length'));
    const asking = new AbortController();
    const { name } = this;
    this._asking = asking;
    this._error = null;
    analysed.set(null);
    try {
      const result = await service.analyse(
        name,
        {
          model_name: text('model') || undefined,
          max_seq_length: text('length') === '' || text('model') === '' ? undefined : length,
          validation_dataset: text('validation') || undefined,
        },
        asking.signal,
      );
      if (name === this.name) this._result = result;
    } catch (error) {
      if (!asking.signal.aborted) this._error = asServiceError(error);
    } finally {
      if (this._asking === asking) this._asking = null;
    }
  }

  protected override render(): TemplateResult {
    const { max_seq_length: recommended } = settings.value.value ?? {};
    const { model, settings: changed } = draft.value;
    const others = (datasets.value.value ?? []).filter(
      (entry) => entry.valid && entry.filename !== this.name && entry.shape === this.shape,
    );
    return html`<form class="import-form" @submit=${this._analyse}>
        <div class="fields">
          <div class="field">
            <label for="analysis-model">Model</label>
            <input id="analysis-model" name="model" type="text" class="mono" placeholder="owner/name or /path/to/model"
              autocomplete="off" spellcheck="false" aria-describedby="analysis-model-hint" .defaultValue=${model} />
            <p class="hint" id="analysis-model-hint">Counts lengths in its tokens. Leave it empty to count none.</p>
          </div>
          <div class="field">
            <label for="analysis-length">Max sequence length</label>
            <input id="analysis-length" name="length" type="text" inputmode="numeric" autocomplete="off"
              .defaultValue=${changed.max_seq_length ?? String(recommended ?? '')} />
          </div>
          <div class="field">
            <label for="analysis-validation">Validation dataset</label>
            <select id="analysis-validation" name="validation" aria-describedby="analysis-validation-hint">
              <option value="">None</option>
              ${others.map(({ filename }) => html`<option value=${filename}>${filename}</option>`)}
            </select>
            <p class="hint" id="analysis-validation-hint">Looks for its rows in this dataset.</p>
          </div>
        </div>
        ${this._error === null ? nothing : serviceErrorPanel('Could not analyse the dataset', this._error)}
        ${this._asking === null ? html`<div class="row"><button type="submit" class="primary" data-next>Analyse</button></div>` : this._progress()}
      </form>
      ${this._result === null ? nothing : analysisResult(this.name, this._result)}`;
  }

  private _progress(): TemplateResult {
    const frame = analysed.value?.dataset === this.name ? analysed.value : null;
    const share =
      frame === null || frame.what === 'lengths' ? null : (frame.done / Math.max(1, frame.total)) * 100;
    return html`<p class="row between wrap-row" role="status">
        <span>${frame === null ? 'Starting…' : frame.what === 'lengths' ? 'Counting tokens' : 'Comparing rows'}</span>
      </p>
      ${progressBar('Analysis', share)}
      <div class="row"><button type="button" data-next @click=${() => this._asking?.abort()}>Cancel</button></div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-analysis': DatasetAnalysis;
  }
}
