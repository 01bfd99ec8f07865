import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../api/request.ts';
import { service } from '../api/service.ts';
import type { Lineage } from '../api/types.ts';
import { progressBar, serviceErrorPanel } from '../elements/parts.ts';
import { pushed } from '../state/app.ts';
import { recall, remember } from '../state/memory.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';

const repositoryName = /^[\w.-]+\/[\w.-]+$/;

/** Pushes a model to the hub. */
@customElement('hone-push-dialog')
export class PushDialog extends LitElement {
  @property({ attribute: false }) model!: Lineage;
  @state() private _name = '';
  @state() private _private = true;
  @state() private _busy = false;
  @state() private _error: ServiceError | null = null;
  @state() private _url: string | null = null;

  constructor() {
    super();
    new Watch(this, pushed);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const owner = recall('hub-owner', '');
    if (owner !== '') this._name = `${owner}/${this.model.name.replace(/[^\w.-]+/g, '-')}`;
  }

  private _progress(): TemplateResult {
    const frame = pushed.value?.model_id === this.model.model_id ? pushed.value : null;
    const fraction = frame?.fraction ?? null;
    return html`<p class="row between" role="status">
        <span>${frame?.state ?? 'Asking the hub'}</span>
        <span class="tabular">${fraction === null ? '' : `${Math.round(fraction * 100)} %`}</span>
      </p>
      ${progressBar('Push', fraction === null ? null : fraction * 100)}`;
  }

  private async _push(event: Event): Promise<void> {
    event.preventDefault();
    if (this._busy || !repositoryName.test(this._name)) return;
    this._busy = true;
    this._error = null;
    try {
      const { repo_url } = await service.push({
        model_id: this.model.model_id,
        repo_name: this._name,
        private: this._private,
      });
      remember('hub-owner', this._name.split('/')[0]);
      this._url = repo_url;
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }

  protected override render(): TemplateResult {
    const content =
      this._url === null
        ? html`<form @submit=${(event: Event) => this._push(event)}>
            <div class="field">
              <label for="repository">Repository</label>
              <input
                id="repository"
                type="text"
                class="mono"
                placeholder="owner/name"
                autocomplete="off"
                aria-describedby="repository-hint"
                .value=${this._name}
                @input=${(event: Event) => {
                  this._name = (event.target as HTMLInputElement).value.trim();
                }}
              />
              <p class="hint" id="repository-hint">It is made if it is not there. HUB_TOKEN must be allowed to write.</p>
            </div>
            <label class="check">
              <input
                type="checkbox"
                .checked=${this._private}
                @change=${(event: Event) => {
                  this._private = (event.target as HTMLInputElement).checked;
                }}
              />
              Private
            </label>
            ${this._busy ? this._progress() : nothing}
            ${this._error === null ? nothing : serviceErrorPanel('The model was not pushed', this._error)}
            <div class="row end">
              <button type="submit" class="primary" ?disabled=${this._busy || !repositoryName.test(this._name)}>
                ${this._busy ? 'Pushing…' : 'Push'}
              </button>
            </div>
          </form>`
        : html`<p class="wrap">Pushed to <a href=${this._url} target="_blank" rel="noreferrer">${this._url}</a>.</p>`;
    return html`<hone-dialog heading="Push to the hub" .content=${content}></hone-dialog>`;
  }
}
