import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { budgetFigureNames, budgetFigures, keyScopes } from '../../../src/contract/access.ts';
import { service } from '../../api/service.ts';
import type { AccessKey } from '../../api/types.ts';
import { formatAgo, formatMoment, formatNumber } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { toasts } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';
import { accessKeys } from '../../state/session.ts';

/** The access keys with their last use; each can be revoked. */
@customElement('hone-key-list')
export class KeyList extends LightElement {
  @state() private _revoking: AccessKey | null = null;
  private readonly _action = new Action(this);

  constructor() {
    super();
    new Reread(this, accessKeys);
  }

  private async _record({ id, name }: AccessKey, box: HTMLInputElement): Promise<void> {
    const { checked } = box;
    await this._action.run(async () => {
      await service.setRecording(id, checked);
      toasts.show(`Answers to requests with ${name} are ${checked ? 'kept now' : 'no longer kept'}.`);
      void accessKeys.refresh();
    });
    if (this._action.error !== null) box.checked = !checked;
  }

  private async _revoke({ id, name }: AccessKey): Promise<void> {
    await this._action.run(async () => {
      await service.removeKey(id);
      toasts.show(`Key ${name} was revoked.`);
      this.querySelector('dialog')?.close();
      void accessKeys.refresh();
    });
  }

  protected override render(): TemplateResult {
    const { value, error } = accessKeys.value;
    return html`<section class="card" aria-labelledby="keys">
      <h2 id="keys">Access keys</h2>
      ${
        value === null
          ? error === null
            ? skeleton(3)
            : serviceErrorPanel('Could not load the keys', error)
          : value.length === 0
            ? empty('No access keys', 'A key lets another machine, or a program, use this service.')
            : this._table(value)
      }
      ${
        this._revoking !== null
          ? this._dialog(this._revoking)
          : this._action.error === null
            ? nothing
            : serviceErrorPanel('Could not change the key', this._action.error)
      }
    </section>`;
  }

  private _table(keys: readonly AccessKey[]): TemplateResult {
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of access keys">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" class="spare">ID</th>
            <th scope="col" class="spare">Created</th>
            <th scope="col">Last used</th>
            <th scope="col" title="Keep the answers to its requests">Record</th>
            <th scope="col"><span class="off-screen">Revoke</span></th>
          </tr>
        </thead>
        <tbody>
          ${keys.map(
            (key) => html`<tr>
              <th scope="row" class="two-lines">${nameText(key.name)}<small>${keyScopes[key.scope].label}${usedOf(key)}</small></th>
              <td class="spare"><code>${key.id}</code></td>
              <td class="spare">${formatMoment(key.created_at)}</td>
              <td>${key.last_used_at === null ? 'Never' : formatAgo(key.last_used_at)}</td>
              <td>
                <input
                  type="checkbox"
                  aria-label="Keep the answers to requests with ${key.name}"
                  .checked=${key.recording}
                  @change=${(event: Event) => this._record(key, event.target as HTMLInputElement)}
                />
              </td>
              <td class="right">
                <button
                  type="button"
                  class="small danger"
                  aria-label="Revoke ${key.name}…"
                  @click=${() => {
                    this._action.clear();
                    this._revoking = key;
                  }}
                >
                  Revoke…
                </button>
              </td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  private _dialog(key: AccessKey): TemplateResult {
    const content = html`<p class="wrap">
        Whoever uses the key ${nameText(key.name)} is refused from now on, and browsers that signed in with it are
        signed out. This cannot be undone.
      </p>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not revoke the key', this._action.error)}
      <div class="row end">
        <button type="button" class="danger" ?disabled=${this._action.busy} @click=${() => this._revoke(key)}>
          Revoke key
        </button>
      </div>`;
    return html`<hone-dialog
      heading="Revoke this key?"
      .content=${content}
      @dismiss=${() => {
        this._revoking = null;
      }}
    ></hone-dialog>`;
  }
}

/** How much of its budget a key has used. */
function usedOf({ budget, used }: AccessKey): string {
  if (budget === null || used === null) return '';
  const figures = budgetFigureNames.flatMap((name) => {
    const limit = budget[name];
    const { label } = budgetFigures[name];
    return limit === undefined ? [] : [`${label}: ${formatNumber(used[name])} of ${formatNumber(limit)}`];
  });
  return ` · ${figures.join(' · ')}`;
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-key-list': KeyList;
  }
}
