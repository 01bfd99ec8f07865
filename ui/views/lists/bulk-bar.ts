import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { identityBounds } from '../../../src/contract/identity.ts';
import type { ServiceError } from '../../api/request.ts';
import { textField } from '../../elements/fields.ts';
import { errorPanel } from '../../elements/parts.ts';
import { toasts } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';
import { tellDeletions } from '../../state/tell-deletion.ts';
import { isTooLargeForBin } from '../deletion.ts';
import { readTags } from '../identity.ts';
import '../../elements/dialog.ts';
import { LightElement } from '../../elements/light-element.ts';

/** A chosen entry of a list. */
export interface Chosen {
  readonly id: string;
  readonly name: string;
  readonly tags: readonly string[];
}

/** What can be done with the chosen entries of a list: tag and delete them. Fires `cleared` and `acted`. */
@customElement('hone-bulk-bar')
export class BulkBar extends LightElement {
  /** One of them, in words: a run, a model. */
  @property() noun = '';
  /** What a deletion takes away and keeps. */
  @property() consequence = '';
  @property({ attribute: false }) chosen: readonly Chosen[] = [];
  @property({ attribute: false }) removeOne!: (
    id: string,
    permanently: boolean,
  ) => Promise<{ readonly bin_id: string | null }>;
  @property({ attribute: false }) tagOne!: (id: string, tags: string[]) => Promise<unknown>;
  /** More buttons, before these. */
  @property({ attribute: false }) more: TemplateResult | typeof nothing = nothing;
  @state() private _dialog: 'tag' | 'delete' | null = null;
  @state() private _done: number | null = null;
  @state() private _failed: readonly string[] = [];
  /** Whether the bin has no room for those that were not deleted. */
  @state() private _isForGood = false;
  private _added = '';
  private _removed = '';

  private get _count(): string {
    const { length } = this.chosen;
    return `${length.toLocaleString('en')} ${this.noun}${length === 1 ? '' : 's'}`;
  }

  /** Does one after the other; those that fail are told and stay chosen. */
  private async _each(
    verb: string,
    act: (one: Chosen) => Promise<unknown>,
    tell: (text: string) => void = (text) => toasts.show(text),
  ): Promise<void> {
    if (this._done !== null) return;
    const all = this.chosen;
    this._failed = [];
    const failed: { one: Chosen; error: ServiceError }[] = [];
    for (const [index, one] of all.entries()) {
      this._done = index;
      await act(one).catch((error) => failed.push({ one, error: asServiceError(error) }));
    }
    this._done = null;
    this._failed = failed.map(({ one, error }) => `${one.name}: ${error.message}`);
    this._isForGood = failed.length > 0 && failed.every(({ error }) => isTooLargeForBin(error));
    const done = all.length - failed.length;
    if (done > 0) tell(`${done.toLocaleString('en')} ${this.noun}${done === 1 ? '' : 's'} ${verb}`);
    const left = failed.map(({ one }) => one.id);
    this.dispatchEvent(new CustomEvent<readonly string[]>('acted', { detail: left }));
    if (failed.length === 0) this.querySelector('dialog')?.close();
  }

  private _tag(event: Event): void {
    event.preventDefault();
    const added = readTags(this._added);
    const removed = readTags(this._removed);
    if (added.length + removed.length === 0) return;
    void this._each('tagged', ({ id, tags }) =>
      this.tagOne(
        id,
        [...new Set([...tags, ...added])].filter((tag) => !removed.includes(tag)),
      ),
    );
  }

  private _delete(): void {
    const ids: (string | null)[] = [];
    const permanently = this._isForGood;
    const remove = async ({ id }: Chosen) => ids.push((await this.removeOne(id, permanently)).bin_id);
    const restored = () => this.dispatchEvent(new CustomEvent<readonly string[]>('acted', { detail: [] }));
    void this._each('deleted', remove, (text) => tellDeletions(text, ids, restored));
  }

  private _open(dialog: 'tag' | 'delete'): void {
    this._failed = [];
    this._isForGood = false;
    this._added = '';
    this._removed = '';
    this._dialog = dialog;
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.chosen.length === 0 && this._dialog === null) return nothing;
    return html`<div class="row wrap-row bulk" role="group" aria-label="Selected ${this.noun}s">
      <span class="tabular" role="status">${this._count} selected</span>
      ${this.more}
      <button type="button" class="small" @click=${() => this._open('tag')}>Tag…</button>
      <button type="button" class="small danger" @click=${() => this._open('delete')}>Delete…</button>
      <button type="button" class="small" @click=${() => this.dispatchEvent(new CustomEvent('cleared'))}>
        Clear selection
      </button>
      ${this._dialogs()}
    </div>`;
  }

  private _dialogs(): TemplateResult | typeof nothing {
    if (this._dialog === null) return nothing;
    const busy = this._done !== null;
    const end = html`${
      this._failed.length === 0
        ? nothing
        : errorPanel({
            title: `${this._failed.length.toLocaleString('en')} could not be ${this._dialog === 'tag' ? 'tagged' : 'deleted'}`,
            cause: this._failed.slice(0, 5).join(' '),
            detail: this._failed.length > 5 ? this._failed.join('\n') : null,
          })
    }`;
    const progress =
      this._done === null
        ? nothing
        : html`<p role="status" class="tabular">${this._done} of ${this.chosen.length}</p>`;
    const cancel = html`<button type="button" @click=${() => this.querySelector('dialog')?.close()}>Cancel</button>`;
    const content =
      this._dialog === 'delete'
        ? html`<p>${this._isForGood ? 'This cannot be undone.' : this.consequence}</p>
            ${end} ${progress}
            <div class="row end">
              ${cancel}
              <button
                type="button"
                class="danger"
                ?disabled=${busy || this.chosen.length === 0}
                @click=${() => this._delete()}
              >
                Delete ${this._count}${this._isForGood ? ' for good' : ''}
              </button>
            </div>`
        : html`<form novalidate @submit=${(event: Event) => this._tag(event)}>
            ${textField({ name: 'Tags to add', id: 'bulk-add', value: this._added }, (text) => {
              this._added = text;
            })}
            ${textField({ name: 'Tags to remove', id: 'bulk-remove', value: this._removed }, (text) => {
              this._removed = text;
            })}
            <p class="hint">With commas between them. At most ${identityBounds.tags} tags each.</p>
            ${end} ${progress}
            <div class="row end">
              ${cancel}
              <button type="submit" class="primary" ?disabled=${busy}>Change tags</button>
            </div>
          </form>`;
    return html`<hone-dialog
      heading=${this._dialog === 'tag' ? `Tag ${this._count}` : `Delete ${this._count}?`}
      .content=${content}
      @dismiss=${() => {
        this._dialog = null;
      }}
    ></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-bulk-bar': BulkBar;
  }
}
