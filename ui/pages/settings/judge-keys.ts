import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { toasts } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';

/** The servers whose judges are asked with a key. */
@customElement('hone-judge-keys')
export class JudgeKeysForm extends LightElement {
  @state() private _urls: readonly string[] | ServiceError | null = null;
  @state() private _url = '';
  @state() private _key = '';
  private readonly _action = new Action(this);

  override connectedCallback(): void {
    super.connectedCallback();
    service.judgeKeys().then(
      ({ urls }) => {
        this._urls = urls;
      },
      (error: unknown) => {
        this._urls = asServiceError(error);
      },
    );
  }

  private async _save(event: Event): Promise<void> {
    event.preventDefault();
    if (this._lacks()) return;
    await this._action.run(async () => {
      this._urls = (await service.setJudgeKey(this._url, this._key)).urls;
      this._url = '';
      this._key = '';
      toasts.show('Key saved');
    });
  }

  private async _remove(url: string): Promise<void> {
    await this._action.run(async () => {
      this._urls = (await service.removeJudgeKey(url)).urls;
      toasts.show('Key removed');
    });
  }

  private _lacks(): boolean {
    return this._url.trim() === '' || this._key.trim() === '';
  }

  protected override render(): TemplateResult {
    const urls = this._urls;
    if (urls === null) return skeleton(2);
    if ('status' in urls) return serviceErrorPanel('Could not read the keys of judges', urls);
    const { busy, error } = this._action;
    return html`${
      urls.length === 0
        ? html`<p>There are no keys of judges.</p>`
        : html`<table class="rows" aria-label="Servers with a key">
            <tbody>
              ${urls.map(
                (url) => html`<tr>
                  <th scope="row" class="wrap">${url}</th>
                  <td class="right">
                    <button
                      type="button"
                      class="small danger"
                      ?disabled=${busy}
                      aria-label="Remove the key of ${url}"
                      @click=${() => this._remove(url)}
                    >
                      Remove
                    </button>
                  </td>
                </tr>`,
              )}
            </tbody>
          </table>`
    }
      <p class="muted">
        For graders that ask a model of another server (<code>base_url</code>). A key is sent to its URL alone. It is kept in the data
        folder, readable by the user of the service alone, and never shown.
      </p>
      <form class="key-form" @submit=${this._save}>
        <div class="field">
          <label for="judge-url">URL</label>
          <input
            id="judge-url"
            type="url"
            autocomplete="off"
            maxlength="2048"
            placeholder="https://api.openai.com/v1"
            .value=${this._url}
            @input=${(event: Event) => {
              this._url = (event.target as HTMLInputElement).value;
            }}
          />
        </div>
        <div class="field">
          <label for="judge-key">Key</label>
          <input
            id="judge-key"
            type="password"
            autocomplete="off"
            maxlength="4096"
            placeholder="sk-…"
            .value=${this._key}
            @input=${(event: Event) => {
              this._key = (event.target as HTMLInputElement).value;
            }}
          />
        </div>
        <button type="submit" class="primary" ?disabled=${busy || this._lacks()}>Save key</button>
      </form>
      ${error === null ? nothing : serviceErrorPanel('Could not change the keys', error)}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-judge-keys': JudgeKeysForm;
  }
}
