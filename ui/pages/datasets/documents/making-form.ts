import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { ListedModel, MakingEstimate } from '../../../api/types.ts';
import { selectField, textField } from '../../../elements/fields.ts';
import { formatCount } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { baseModels, datasets, graders, toasts } from '../../../state/app.ts';
import { Remote, Reread } from '../../../state/remote.ts';
import { modelSelect, targetsOf } from '../../../views/model-select.ts';
import { documents, makings } from './known.ts';
import { bodyOf, emptyDraft, isVariant, type Kind, kinds, lack, type MakingDraft } from './making-draft.ts';

/** Chooses how rows are made, says what that takes, and starts it. */
@customElement('hone-making-form')
export class MakingForm extends LightElement {
  @state() private _draft: MakingDraft = emptyDraft;
  /** Of the draft as it was when it was asked for. */
  @state() private _estimate: MakingEstimate | null = null;
  private readonly _listed = new Remote<readonly ListedModel[]>(service.listedModels);
  private readonly _action = new Action(this);
  private _abort = new AbortController();

  constructor() {
    super();
    new Reread(this, baseModels, this._listed, datasets, graders, documents);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._abort.abort();
  }

  private _set(change: Partial<MakingDraft>): void {
    this._draft = { ...this._draft, ...change };
    this._estimate = null;
  }

  private get _lack(): string | null {
    if (!isVariant(this._draft.kind) && documents.value.value?.length === 0) return 'Add a document first.';
    return lack(this._draft);
  }

  private async _ask(): Promise<void> {
    this._abort = new AbortController();
    await this._action.run(async () => {
      this._estimate = await service.estimateRows(bodyOf(this._draft), this._abort.signal);
    });
  }

  private async _start(event: Event): Promise<void> {
    event.preventDefault();
    if (this._lack !== null) return;
    await this._action.run(async () => {
      const { request } = await service.makeRows(bodyOf(this._draft));
      toasts.show(`${request.name} is being made`);
      this._set({ name: '' });
      await makings.refresh();
    });
  }

  private _field(
    field: Exclude<keyof MakingDraft, 'kind'>,
    name: string,
    more: {
      readonly hint?: string;
      readonly placeholder?: string;
      readonly inputMode?: 'decimal' | 'numeric';
    } = {},
  ): TemplateResult {
    const described = { name, id: `making-${field}`, value: this._draft[field], ...more };
    return textField(described, (text) => this._set({ [field]: text }));
  }

  protected override render(): TemplateResult {
    const { busy, error } = this._action;
    const { kind, model, grader, dataset } = this._draft;
    const missing = this._lack;
    const choices = (names: readonly string[]) => names.map((name) => [name, name] as const);
    return html`<section class="card" aria-labelledby="make-rows">
      <h2 id="make-rows">Make rows</h2>
      <p class="muted">
        A model writes rows about passages of all documents. A row is kept only if the quotation that it rests on stands in
        its passage. No document is in both the training and the validation dataset.
      </p>
      <form class="column" @submit=${this._start}>
        <div class="fields">
          ${selectField(
            { name: 'Kind', id: 'making-kind', value: kind, choices: Object.entries(kinds) },
            (value) => this._set({ kind: value as Kind }),
          )}
          ${modelSelect(
            {
              name: 'Model',
              id: 'making-model',
              value: model,
              targets: targetsOf(this._listed.value.value ?? [], baseModels.value.value ?? [], []),
            },
            (value) => this._set({ model: value }),
          )}
          ${this._field('name', 'Name of the dataset', { placeholder: 'handbook' })}
          ${
            isVariant(kind)
              ? selectField(
                  {
                    name: 'Dataset',
                    id: 'making-dataset',
                    value: dataset,
                    empty: 'Choose…',
                    choices: choices((datasets.value.value ?? []).map(({ filename }) => filename)),
                  },
                  (value) => this._set({ dataset: value }),
                )
              : this._field('share', 'Share for validation', { placeholder: '0.1', inputMode: 'decimal' })
          }
          ${kind === 'extraction' ? this._field('fields', 'Fields', { placeholder: 'name, date, amount' }) : nothing}
          ${kind === 'classification' ? this._field('labels', 'Labels', { placeholder: 'invoice, contract, letter' }) : nothing}
          ${kind === 'translation' ? this._field('language', 'Language', { placeholder: 'French' }) : nothing}
          ${this._field('maxRows', 'Most rows', { inputMode: 'numeric' })}
          ${this._field('seed', 'Seed', { inputMode: 'numeric' })}
          ${this._field('instructions', 'Instructions', { placeholder: 'What the model is told beside' })}
          ${selectField(
            {
              name: 'Grader',
              id: 'making-grader',
              value: grader,
              empty: 'None',
              choices: choices((graders.value.value ?? []).map(({ name }) => name)),
            },
            (value) => this._set({ grader: value }),
          )}
          ${grader === '' ? nothing : this._field('bar', 'Lowest score', { placeholder: '0.5', inputMode: 'decimal' })}
        </div>
        ${this._told(missing)}
        ${error === null ? nothing : serviceErrorPanel('The rows cannot be made', error)}
        <div class="row end">
          <button type="button" ?disabled=${busy || missing !== null} @click=${() => this._ask()}>Estimate tokens</button>
          <button type="submit" class="primary" ?disabled=${busy || missing !== null}>Make rows</button>
        </div>
      </form>
    </section>`;
  }

  private _told(missing: string | null): TemplateResult {
    if (missing !== null) return html`<p class="muted" role="status">${missing}</p>`;
    const estimate = this._estimate;
    if (estimate === null) return html`<p class="muted" role="status"></p>`;
    const { sources, near_duplicates: near, requests, tokens, files } = estimate;
    const what = isVariant(this._draft.kind) ? 'rows' : 'passages';
    return html`<p role="status">
      ${formatCount(sources)} ${what}${near === 0 ? '' : `, and ${formatCount(near)} that are nearly the same as others`}. At
      least ${formatCount(requests)} requests, about ${formatCount(tokens.prompt)} tokens of prompts and
      ${formatCount(tokens.answer)} of answers.
      ${files.validation.length === 0 ? nothing : html`For validation: ${files.validation.join(', ')}.`}
    </p>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-making-form': MakingForm;
  }
}
