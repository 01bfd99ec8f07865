import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { Alias } from '../../../api/types.ts';
import { selectField, textField } from '../../../elements/fields.ts';
import { formatMoment } from '../../../elements/format.ts';
import { KeepFocus } from '../../../elements/keep-focus.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { aliases, graders, models, toasts } from '../../../state/app.ts';
import { asServiceError } from '../../../state/remote.ts';
import { Watch } from '../../../state/store.ts';
import { deletion } from '../../../views/deletion.ts';
import { modelSelect, type Target, targetWords } from '../../../views/model-select.ts';
import { splitView, targetName } from './split-view.ts';
import '../../../elements/dialog.ts';

/** One alias: the model that it stands for, moves, a split and what came of it, and its history. */
@customElement('hone-alias')
export class AliasCard extends LightElement {
  @property({ attribute: false }) alias!: Alias;
  @property({ attribute: false }) targets: readonly Target[] = [];
  /** The name of the model that its forms begin with; empty for none. */
  @property() wanted = '';
  @state() private _form: 'move' | 'split' | null = null;
  @state() private _isDeleting = false;
  @state() private _model = '';
  @state() private _percent = '10';
  /** The name of the grader that compares the models of a split. */
  @state() private _grader = '';
  private readonly _action = new Action(this);

  constructor() {
    super();
    new Watch(this, models, graders);
    // Not on the button next to a form that is closed, which deletes.
    new KeepFocus(this);
  }

  /** Asks for a change, and shows it. */
  private async _change<T>(work: () => Promise<T>, then: (changed: T) => void): Promise<void> {
    await this._action.run(async () => {
      const changed = await work();
      this._form = null;
      then(changed);
      await aliases.refresh();
    });
  }

  private async _move(model: string): Promise<void> {
    const { name } = this.alias;
    await this._change(
      () => service.moveAlias(name, model),
      (moved) => {
        const takeBack = () => void takeBackMove(moved);
        toasts.show(`${name} stands for ${targetWords(model)}`, 'info', takeBack);
      },
    );
  }

  private async _undo(): Promise<void> {
    await this._change(
      () => service.undoAlias(this.alias.name),
      ({ name, model }) => toasts.show(`${name} stands for ${targetWords(model ?? 'a deleted model')} again`),
    );
  }

  private async _split(): Promise<void> {
    const { name } = this.alias;
    const [model, percent] = [this._model, this._typedPercent];
    if (percent === null) return;
    await this._change(
      () => service.splitAlias(name, { model, percent, grader: this._grader || null }),
      () => toasts.show(`${targetWords(model)} answers ${percent}% of the conversations of ${name}`),
    );
  }

  private async _end(): Promise<void> {
    await this._change(
      () => service.endSplit(this.alias.name),
      ({ name, model }) => toasts.show(`${targetWords(model ?? 'A deleted model')} answers as ${name} alone`),
    );
  }

  private async _remove(): Promise<void> {
    const { name } = this.alias;
    await this._change(
      () => service.removeAlias(name),
      () => {
        this.querySelector('dialog')?.close();
        toasts.show(`${name} was deleted`);
      },
    );
  }

  private get _typedPercent(): number | null {
    const percent = Number(this._percent);
    return Number.isInteger(percent) && percent >= 1 && percent <= 99 ? percent : null;
  }

  private async _show(form: 'move' | 'split'): Promise<void> {
    this._action.clear();
    this._model = this.wanted === this.alias.model ? '' : this.wanted;
    graders.ensure();
    this._form = this._form === form ? null : form;
    await this.updateComplete;
    this.querySelector<HTMLElement>('form select')?.focus();
  }

  protected override render(): TemplateResult {
    const { name, model, moved_at: movedAt, history, split } = this.alias;
    const { busy, error } = this._action;
    return html`<section class="card" aria-label="Alias ${name}">
      <div class="card-head">
        <div>
          <h2>${nameText(name)}</h2>
          <p class="wrap">${
            model === null
              ? html`<span class="warning">Its model was deleted, so it answers nothing. Move it to another one.</span>`
              : html`Stands for ${this._linked(model)} <span class="muted">since ${formatMoment(movedAt)}</span>`
          }</p>
        </div>
        <span class="row wrap-row">
          <button type="button" class="small" data-next aria-expanded=${this._form === 'move'} @click=${() => this._show('move')}>Move…</button>
          ${
            split === null && model !== null
              ? html`<button type="button" class="small" aria-expanded=${this._form === 'split'} @click=${() => this._show('split')}>Split…</button>`
              : nothing
          }
          ${
            history.length === 0
              ? nothing
              : html`<button type="button" class="small" ?disabled=${busy} @click=${this._undo}>Undo last move</button>`
          }
          <button type="button" class="small danger" @click=${() => this._askDeletion(true)}>Delete…</button>
        </span>
      </div>
      ${this._form === null ? nothing : this._fields(this._form)}
      ${error === null || this._isDeleting ? nothing : serviceErrorPanel(`Could not change ${name}`, error)}
      ${
        split === null
          ? nothing
          : splitView({
              name,
              current: model,
              split,
              busy,
              promote: (one) => void this._move(one),
              end: () => void this._end(),
            })
      }
      ${history.length === 0 ? nothing : this._history()} ${this._isDeleting ? this._dialog() : nothing}
    </section>`;
  }

  /** The name of a model, with a link to its page if it has one. */
  private _linked(model: string): TemplateResult {
    const found = models.value.value?.find((one) => one.name === model);
    return found === undefined
      ? targetName(model)
      : html`<a href="/models/${found.model_id}">${nameText(model)}</a>`;
  }

  private _fields(form: 'move' | 'split'): TemplateResult {
    const { name, model } = this.alias;
    const targets = this.targets.filter((target) => target.name !== model);
    const isSplit = form === 'split';
    const isReady = this._model !== '' && !(isSplit && this._typedPercent === null);
    const submit = (event: Event) => {
      event.preventDefault();
      if (!isReady) return;
      void (isSplit ? this._split() : this._move(this._model));
    };
    const close = () => {
      this._form = null;
    };
    return html`<form class="column" aria-label=${isSplit ? `Split ${name}` : `Move ${name}`} @submit=${submit}>
      ${isSplit ? html`<p class="hint">Another model answers a share of the conversations. Nobody who rates the answers sees which one it was.</p>` : nothing}
      <div class="fields">
        ${modelSelect(
          { name: isSplit ? 'Other model' : 'New model', id: `to-${name}`, value: this._model, targets },
          (chosen) => {
            this._model = chosen;
          },
        )}
        ${isSplit ? [this._share(name), this._graders(name)] : nothing}
      </div>
      <div class="row end">
        <button type="button" @click=${close}>Cancel</button>
        <button type="submit" class="primary" ?disabled=${!isReady || this._action.busy}>${isSplit ? 'Start the split' : 'Move'}</button>
      </div>
    </form>`;
  }

  private _share(name: string): TemplateResult {
    const field = { name: 'Its share in %', id: `share-${name}`, value: this._percent, maxLength: 4 };
    const fault = this._typedPercent === null ? 'A whole number from 1 to 99.' : false;
    return textField({ ...field, fault, inputMode: 'numeric' }, (text) => {
      this._percent = text;
    });
  }

  private _graders(name: string): TemplateResult {
    const choices = (graders.value.value ?? []).map(({ name: one }) => [one, one] as const);
    const field = { name: 'Grader', id: `grader-${name}`, value: this._grader, choices, empty: 'None' };
    return selectField(field, (chosen) => {
      this._grader = chosen;
    });
  }

  private _history(): TemplateResult {
    return html`<details class="fold bare">
      <summary>Earlier models</summary>
      <ol class="list">
        ${this.alias.history.map(
          ({ model, moved_at: at }) =>
            html`<li>${model === null ? targetName(null) : this._linked(model)} <span class="muted">since ${formatMoment(at)}</span></li>`,
        )}
      </ol>
    </details>`;
  }

  private _askDeletion(isDeleting: boolean): void {
    this._action.clear();
    this._isDeleting = isDeleting;
  }

  private _dialog(): TemplateResult {
    return html`<hone-dialog
      heading="Delete ${this.alias.name}?"
      .content=${deletion({
        noun: 'alias',
        consequence: 'Programs that ask for this name get an error from then on. The model stays.',
        busy: this._action.busy,
        error: this._action.error,
        remove: () => void this._remove(),
        close: () => this.querySelector('dialog')?.close(),
      })}
      @dismiss=${() => this._askDeletion(false)}
    ></hone-dialog>`;
  }
}

/** Takes a move back, unless the alias was moved again since. */
async function takeBackMove(moved: Alias): Promise<void> {
  const { name } = moved;
  try {
    const now = (await service.aliases()).find((one) => one.name === name);
    if (now?.moved_at !== moved.moved_at) toasts.show(`${name} has changed since.`, 'error');
    else {
      const { model } = await service.undoAlias(name);
      toasts.show(`${name} stands for ${targetWords(model ?? 'a deleted model')} again`);
    }
  } catch (error) {
    toasts.show(asServiceError(error).message, 'error');
  }
  await aliases.refresh();
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-alias': AliasCard;
  }
}
