import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { identityBounds } from '../../src/contract/identity.ts';
import { service } from '../api/service.ts';
import type { Identity } from '../api/types.ts';
import { textField } from '../elements/fields.ts';
import { nameText, serviceErrorPanel } from '../elements/parts.ts';
import { Action } from '../state/action.ts';
import { jobs, models } from '../state/app.ts';
import '../elements/dialog.ts';
import { LightElement } from '../elements/light-element.ts';

/** The tags of a text with commas between them, each once. */
export const readTags = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];

/** What the service would refuse about tags; `null` if nothing. */
export function tagsFault(tags: readonly string[]): string | null {
  if (tags.length > identityBounds.tags) return `There must be at most ${identityBounds.tags} tags.`;
  const long = tags.find((tag) => tag.length > identityBounds.tag);
  return long === undefined
    ? null
    : `“${long.slice(0, 20)}…” is longer than ${identityBounds.tag} characters.`;
}

/** The tags of a run or a model. */
export function tagList(tags: readonly string[]): TemplateResult | typeof nothing {
  return tags.length === 0
    ? nothing
    : html`<span class="tags">${tags.map((tag) => html`<span class="tag"><bdi>${tag}</bdi></span>`)}</span>`;
}

/** The heading of a run's or a model's page, with its tags and notes, and a dialog to change them. Fires `identified`. */
@customElement('hone-identity')
export class IdentityHead extends LightElement {
  /** The run, by its ID; or else the model. */
  @property() jobId: string | null = null;
  @property() modelId: string | null = null;
  @property({ attribute: false }) of!: Identity;
  @state() private _open = false;
  private readonly _action = new Action(this);
  @state() private _tagsFault: string | null = null;
  private _name = '';
  private _tags = '';
  private _notes = '';

  private _edit(): void {
    this._name = this.of.display_name;
    this._tags = this.of.tags.join(', ');
    this._notes = this.of.notes;
    this._action.clear();
    this._tagsFault = null;
    this._open = true;
  }

  private async _save(event: Event): Promise<void> {
    event.preventDefault();
    const tags = readTags(this._tags);
    this._tagsFault = tagsFault(tags);
    if (this._tagsFault !== null) return;
    const name = this._name.trim();
    const change = {
      display_name: name === '' ? null : name,
      tags,
      notes: this._notes,
    };
    await this._action.run(async () => {
      const named =
        this.jobId === null
          ? await service.identifyModel(this.modelId ?? '', change)
          : await service.identifyJob(this.jobId, change);
      this.querySelector('dialog')?.close();
      this.dispatchEvent(
        new CustomEvent<Identity>('identified', {
          detail: { display_name: named.display_name, tags: named.tags, notes: named.notes },
        }),
      );
      void jobs.refresh();
      models.renew();
    });
  }

  protected override render(): TemplateResult {
    const { display_name, tags, notes } = this.of;
    return html`<div class="identity">
      <div class="row wrap-row">
        <h1>${nameText(display_name)}</h1>
        <button type="button" class="small" @click=${this._edit}>
          Edit<span class="off-screen"> name, tags and notes</span>
        </button>
      </div>
      ${tagList(tags)}
      ${notes.trim() === '' ? nothing : html`<p class="identity-notes" dir="auto" tabindex="0" role="region" aria-label="Notes">${notes}</p>`}
      ${this._open ? this._dialog() : nothing}
    </div>`;
  }

  private _dialog(): TemplateResult {
    const content = html`<form novalidate @submit=${(event: Event) => this._save(event)}>
      ${textField(
        {
          name: 'Name',
          id: 'identity-name',
          value: this._name,
          hint: 'Leave it empty for the default name: dataset, epochs and learning rate.',
          maxLength: identityBounds.displayName,
          hasFocus: true,
        },
        (text) => {
          this._name = text;
        },
      )}
      ${textField(
        {
          name: 'Tags',
          id: 'identity-tags',
          value: this._tags,
          hint: 'With commas between them, such as: support, candidate.',
          fault: this._tagsFault ?? false,
        },
        (text) => {
          this._tags = text;
        },
      )}
      <div class="field">
        <label for="identity-notes">Notes</label>
        <textarea
          id="identity-notes"
          rows="5"
          maxlength=${identityBounds.notes}
          .value=${this._notes}
          @input=${(event: Event) => {
            this._notes = (event.target as HTMLTextAreaElement).value;
          }}
        ></textarea>
      </div>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not save', this._action.error)}
      <div class="row end">
        <button type="button" @click=${() => this.querySelector('dialog')?.close()}>Cancel</button>
        <button type="submit" class="primary" ?disabled=${this._action.busy}>${this._action.busy ? 'Saving…' : 'Save'}</button>
      </div>
    </form>`;
    return html`<hone-dialog
      heading="Name, tags and notes"
      .content=${content}
      @dismiss=${() => {
        this._open = false;
      }}
    ></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-identity': IdentityHead;
  }
}
