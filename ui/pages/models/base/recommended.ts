import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { bytesPerParameter } from '../../../../src/contract/models/bytes-per-parameter.ts';
import { service } from '../../../api/service.ts';
import type { Recommendation } from '../../../api/types.ts';
import { textField } from '../../../elements/fields.ts';
import { formatMemory, formatNumber } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';

const repositoryName = /^[\w.-]+\/[\w.-]+$/;

/** Models of the hub to download: those that are recommended for this machine, or any other. Fires `changed`. */
@customElement('hone-recommended-models')
export class RecommendedModels extends LightElement {
  @property({ attribute: false }) recommended: readonly Recommendation[] = [];
  /** The models that are on this machine. */
  @property({ attribute: false }) here: readonly string[] = [];
  @property({ attribute: false }) downloading: readonly string[] = [];
  @state() private _name = '';
  private readonly _action = new Action(this);

  private async _download(model: string): Promise<void> {
    await this._action.run(() => service.downloadModel(model));
    this.dispatchEvent(new CustomEvent('changed'));
  }

  private async _submit(event: Event): Promise<void> {
    event.preventDefault();
    if (!repositoryName.test(this._name)) return;
    await this._download(this._name);
    if (this._action.error === null) this._name = '';
  }

  protected override render(): TemplateResult {
    const others = this.recommended.filter(({ model }) => !this.here.includes(model));
    const { error, busy } = this._action;
    return html`<section class="card" aria-labelledby="download-base">
      <h2 id="download-base">Download</h2>
      ${error === null ? nothing : serviceErrorPanel('Could not start the download', error)}
      ${
        others.length === 0
          ? nothing
          : html`<p class="muted">Recommended for this machine:</p>
              <ul class="list">
                ${others.map((one) => this._entry(one))}
              </ul>`
      }
      <form class="key-form" novalidate @submit=${this._submit}>
        ${textField(
          {
            name: 'Another model of the hub',
            id: 'hub-model',
            value: this._name,
            placeholder: 'owner/name',
          },
          (text) => {
            this._name = text.trim();
          },
        )}
        <button type="submit" ?disabled=${busy || !repositoryName.test(this._name)}>Download</button>
      </form>
    </section>`;
  }

  private _entry({
    model,
    why,
    licence,
    parameters_billion: billions,
    memory_bytes: memory,
  }: Recommendation) {
    const facts = `${formatNumber(billions, 3)} B parameters, a download of about ${formatMemory(billions * 1e9 * bytesPerParameter)}, about ${formatMemory(memory)} to train; ${licence}`;
    const isGoing = this.downloading.includes(model);
    return html`<li class="example">
      <span class="list-main">
        ${nameText(model)}
        <small class="muted">${why.charAt(0).toUpperCase()}${why.slice(1)}. ${facts}</small>
      </span>
      <button
        type="button"
        class="small"
        aria-label="Download ${model}"
        ?disabled=${isGoing || this._action.busy}
        @click=${() => this._download(model)}
      >
        ${isGoing ? 'Downloading…' : 'Download'}
      </button>
    </li>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-recommended-models': RecommendedModels;
  }
}
