import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { RemoteModel } from '../../../api/types.ts';
import { textField } from '../../../elements/fields.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { nameText, serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { toasts } from '../../../state/app.ts';
import { Remote, Reread } from '../../../state/remote.ts';

const nothingTyped = { name: '', url: '', model: '', key: '' };

/** Names that stand for models of other services: they are added and removed here, and their keys are never shown. */
@customElement('hone-remote-models')
export class RemoteModels extends LightElement {
  @state() private _typed = nothingTyped;
  private readonly _models = new Remote<RemoteModel[]>(() =>
    service.remoteModels().then(({ remote_models }) => [...remote_models]),
  );
  private readonly _action = new Action(this);

  constructor() {
    super();
    new Reread(this, this._models);
  }

  private async _add(event: Event): Promise<void> {
    event.preventDefault();
    if (this._lacks()) return;
    await this._action.run(async () => {
      const { name, url, model, key } = this._typed;
      const { name: added } = await service.addRemoteModel({
        name: name.trim(),
        url,
        model: model.trim() === '' ? null : model,
        key: key.trim() === '' ? null : key,
      });
      this._typed = nothingTyped;
      toasts.show(`${added} was added`);
      await this._models.refresh();
    });
  }

  private async _remove(name: string): Promise<void> {
    await this._action.run(async () => {
      await service.removeRemoteModel(name);
      toasts.show(`${name} was removed`);
      await this._models.refresh();
    });
  }

  private _lacks(): boolean {
    return this._typed.name.trim() === '' || this._typed.url.trim() === '';
  }

  private _field(
    field: keyof typeof nothingTyped,
    name: string,
    placeholder: string,
    maxLength: number,
  ): TemplateResult {
    const id = `remote-${field}`;
    return textField({ name, id, value: this._typed[field], placeholder, maxLength }, (text) => {
      this._typed = { ...this._typed, [field]: text };
    });
  }

  protected override render(): TemplateResult {
    const { busy, error } = this._action;
    return html`<section class="card" aria-labelledby="remote-models">
      <h2 id="remote-models">Models of other services</h2>
      <p class="muted">
        Requests to <code>/v1/chat/completions</code> with such a name are answered by another service, and
        their answers can be kept to train on.
      </p>
      ${this._list()}
      <form class="key-form" @submit=${this._add}>
        ${this._field('name', 'Name', 'gpt', 64)} ${this._field('url', 'URL', 'https://api.openai.com/v1', 2048)}
        ${this._field('model', 'Model there', 'The same name', 1024)}
        <div class="field">
          <label for="remote-key">Key</label>
          <input
            id="remote-key"
            type="password"
            autocomplete="off"
            maxlength="4096"
            placeholder="sk-…, if it needs one"
            .value=${this._typed.key}
            @input=${(event: Event) => {
              this._typed = { ...this._typed, key: (event.target as HTMLInputElement).value };
            }}
          />
        </div>
        <button type="submit" class="primary" ?disabled=${busy || this._lacks()}>Add model</button>
      </form>
      ${error === null ? nothing : serviceErrorPanel('Could not change the models', error)}
    </section>`;
  }

  private _list(): TemplateResult {
    const { value, error } = this._models.value;
    if (value === null)
      return error === null ? skeleton(2) : serviceErrorPanel('Could not load the models', error);
    if (value.length === 0) return html`<p>There are no models of other services.</p>`;
    return html`<table class="rows" aria-label="Models of other services">
      <tbody>
        ${value.map(
          ({ name, url, model, has_key: hasKey }) => html`<tr>
            <th scope="row" class="named wrap">
              ${nameText(name)}
              <small class="muted">${model === name ? '' : `${model}, `}${url}${hasKey ? ', with a key' : ''}</small>
            </th>
            <td class="right">
              <button
                type="button"
                class="small danger"
                ?disabled=${this._action.busy}
                aria-label="Remove ${name}"
                @click=${() => this._remove(name)}
              >
                Remove
              </button>
            </td>
          </tr>`,
        )}
      </tbody>
    </table>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-remote-models': RemoteModels;
  }
}
