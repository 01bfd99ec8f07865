import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ModelFrame } from '../../api/frames.ts';
import { service } from '../../api/service.ts';
import type { HubAccount, Lineage } from '../../api/types.ts';
import { fileNameOf } from '../../elements/download.ts';
import { checkField } from '../../elements/fields.ts';
import { LightElement } from '../../elements/light-element.ts';
import { errorPanel, progressBar, serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { pushed, toasts } from '../../state/app.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';
import './model-card.ts';

const repositoryName = /^[\w.-]+\/[\w.-]+$/;
const stateWords: Readonly<Record<string, string>> = {
  comparing: 'Comparing files',
  uploading: 'Uploading',
  committing: 'Committing',
};

/** The latest frame of a push in progress; `null` when there is none. */
export function pushOf(modelId: string): ModelFrame | null {
  const frame = pushed.value;
  return frame?.model_id === modelId && frame.state !== undefined && frame.state in stateWords ? frame : null;
}

/** The progress of a push. */
export function pushProgress(frame: ModelFrame | null): TemplateResult {
  const fraction = frame?.fraction ?? null;
  return html`<p class="row between" role="status">
      <span>${stateWords[frame?.state ?? ''] ?? 'Contacting the hub'}</span>
      <span class="tabular">${fraction === null ? '' : `${Math.round(fraction * 100)}%`}</span>
    </p>
    ${progressBar('Push', fraction === null ? null : fraction * 100)}`;
}

/** Pushes a model to the hub. Closing the dialog does not cancel the push: the model's page shows its progress. */
@customElement('hone-push-dialog')
export class PushDialog extends LightElement {
  @property({ attribute: false }) model!: Lineage;
  @state() private _name = '';
  @state() private _private = true;
  private readonly _action = new Action(this);
  @state() private _cancelling = false;
  @state() private _url: string | null = null;
  /** The account to push to; `null` until the service has told. */
  @state() private _account: HubAccount | null = null;

  constructor() {
    super();
    new Watch(this, pushed);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const owner = readStored('hub-owner', '');
    if (owner !== '') this._name = this._nameFor(owner);
    void this._ask();
  }

  private _nameFor(owner: string): string {
    return `${owner}/${fileNameOf(this.model.display_name)}`;
  }

  /** Asks whether anything can be pushed, before the user tries. */
  private async _ask(): Promise<void> {
    try {
      const account = await service.hubAccount();
      this._account = account;
      if (this._name === '' && account.name !== null) this._name = this._nameFor(account.name);
    } catch (error) {
      const { message } = asServiceError(error);
      this._account = {
        name: null,
        organizations: [],
        problem: { kind: 'upstream', message },
        token_from: null,
      };
    }
  }

  /** Why the repository's name cannot be pushed to; `null` if it can, as far as is known. */
  private get _wrongName(): string | null {
    if (this._name === '') return null;
    if (!repositoryName.test(this._name)) return 'The repository must be owner/name.';
    const { name, organizations = [] } = this._account ?? {};
    const owners = name == null ? [] : [name, ...organizations];
    const owner = this._name.split('/')[0]?.toLowerCase();
    return owners.length === 0 || owners.some((one) => one.toLowerCase() === owner)
      ? null
      : `The token belongs to ${owners.join(', ')}: choose a name that starts with ${owners.length === 1 ? 'it' : 'one of these'}.`;
  }

  private get _isReady(): boolean {
    // A hub that was out of reach may answer by now.
    const isRefused = this._account === null || this._account.problem?.kind === 'forbidden';
    return !this._action.busy && !isRefused && repositoryName.test(this._name);
  }

  private async _push(event: Event): Promise<void> {
    event.preventDefault();
    if (!this._isReady) return;
    await this._action.run(async () => {
      const { repo_url } = await service.push({
        model_id: this.model.model_id,
        repo_name: this._name,
        private: this._private,
      });
      writeStored('hub-owner', this._name.split('/')[0]);
      this._url = repo_url;
    });
    // A cancelled push is not an error.
    if (this._cancelling) this._action.clear();
    this._cancelling = false;
  }

  private async _cancel(): Promise<void> {
    if (this._cancelling) return;
    this._cancelling = true;
    try {
      toasts.show((await service.cancelPush(this.model.model_id)).message);
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
      this._cancelling = false;
    }
  }

  protected override render(): TemplateResult {
    const content =
      this._url === null
        ? html`<form @submit=${(event: Event) => this._push(event)}>
            ${
              this._account?.problem == null
                ? nothing
                : errorPanel({
                    title:
                      this._account.problem.kind === 'forbidden'
                        ? 'Nothing can be pushed now'
                        : 'The hub could not be asked',
                    cause: this._account.problem.message,
                  })
            }
            <div class="field">
              <label for="repository">Repository</label>
              <input
                id="repository"
                type="text"
                class="mono"
                autofocus
                placeholder="owner/name"
                autocomplete="off"
                aria-describedby="repository-fault repository-hint"
                aria-invalid=${this._wrongName === null ? nothing : 'true'}
                .value=${this._name}
                @input=${(event: Event) => {
                  this._name = (event.target as HTMLInputElement).value.trim();
                }}
              />
              <p class="hint" id="repository-hint">
                Created if it doesn't exist. The hub token needs write access${this._account?.name == null ? '' : html`; it belongs to <bdi>${this._account.name}</bdi>`}.
              </p>
              ${this._wrongName === null ? nothing : html`<p class="fault" id="repository-fault">${this._wrongName}</p>`}
            </div>
            <hone-model-card
              .modelId=${this.model.model_id}
              .repository=${repositoryName.test(this._name) ? this._name : ''}
            ></hone-model-card>
            ${checkField('Private', this._private, (on) => {
              this._private = on;
            })}
            ${this._action.busy ? pushProgress(pushOf(this.model.model_id)) : nothing}
            ${this._action.error === null ? nothing : serviceErrorPanel('Could not push the model', this._action.error)}
            <div class="row end">
              ${
                this._action.busy
                  ? html`<button type="button" ?disabled=${this._cancelling} @click=${() => this._cancel()}>
                      Cancel push
                    </button>`
                  : nothing
              }
              <button type="submit" class="primary" ?disabled=${!this._isReady}>
                ${this._action.busy ? 'Pushing…' : 'Push'}
              </button>
            </div>
          </form>`
        : html`<p class="wrap">Pushed to <a href=${this._url} target="_blank" rel="noreferrer">${this._url}</a>.</p>`;
    return html`<hone-dialog heading="Push to the hub" .content=${content}></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-push-dialog': PushDialog;
  }
}
