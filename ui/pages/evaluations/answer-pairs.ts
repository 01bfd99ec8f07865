import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { graderBounds, isJudge } from '../../../src/contract/graders/grader-types.ts';
import { service } from '../../api/service.ts';
import type { Evaluation } from '../../api/types.ts';
import { textField } from '../../elements/fields.ts';
import { LightElement } from '../../elements/light-element.ts';
import { figure, nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { graders } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';
import { evaluationName } from '../../views/evaluation-words.ts';

type Judged = Awaited<ReturnType<typeof service.judgePairs>>;

/** Asks a judge which of two evaluations has the better answers. */
@customElement('hone-answer-pairs')
export class AnswerPairs extends LightElement {
  @property({ attribute: false }) evaluations: readonly Evaluation[] = [];
  @state() private _judge = '';
  @state() private _criteria = '';
  @state() private _judged: Judged | null = null;
  private readonly _action = new Action(this);

  constructor() {
    super();
    new Watch(this, graders);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void graders.refresh();
  }

  private async _ask(event: Event): Promise<void> {
    event.preventDefault();
    await this._action.run(async () => {
      this._judged = await service.judgePairs({
        evaluations: this.evaluations.map(({ evaluation_id }) => evaluation_id),
        judge: this._judge,
        criteria: this._criteria.trim() || null,
      });
    });
  }

  protected override render(): TemplateResult | typeof nothing {
    const judges = (graders.value.value ?? []).filter(({ grader }) => isJudge(grader));
    return html`<section class="card" aria-labelledby="pairs">
      <h2 id="pairs">Ask a judge</h2>
      <p class="note">
        A model compares the first ${graderBounds.usualPairs} answers of both, in both orders.
        ${judges.length === 0 ? html`<a href="/models/graders">Store a grader</a> that asks a model, to have a judge.` : nothing}
      </p>
      ${judges.length === 0 ? nothing : this._form(judges.map(({ name }) => name))}
      ${this._action.error === null ? nothing : serviceErrorPanel('The judge could not be asked', this._action.error)}
      ${this._judged === null ? nothing : this._result(this._judged)}
    </section>`;
  }

  private _form(names: readonly string[]): TemplateResult {
    const { busy } = this._action;
    return html`<form class="evaluation-form" @submit=${this._ask}>
      <div class="fields">
        <div class="field">
          <label for="pairs-judge">Judge</label>
          <select
            id="pairs-judge"
            .value=${this._judge}
            @change=${(event: Event) => {
              this._judge = (event.target as HTMLSelectElement).value;
            }}
          >
            <option value="" ?selected=${this._judge === ''}>Choose…</option>
            ${names.map((name) => html`<option value=${name} ?selected=${name === this._judge}>${name}</option>`)}
          </select>
        </div>
        ${textField(
          {
            name: 'Criteria',
            id: 'pairs-criteria',
            value: this._criteria,
            placeholder: 'It is right and short.',
            maxLength: 10_000,
          },
          (text) => {
            this._criteria = text;
          },
        )}
      </div>
      <div class="row end">
        <button type="submit" ?disabled=${busy || this._judge === ''}>${busy ? 'Asking…' : 'Ask the judge'}</button>
      </div>
    </form>`;
  }

  private _result({ summary, pairs }: Judged): TemplateResult {
    const [first = nothing, second = nothing] = this.evaluations.map(evaluationName);
    const failed = pairs.filter(({ better }) => better === null).length;
    const words = { first, second, tie: 'Neither' } as const;
    const better = (name: TemplateResult | typeof nothing, count: number) =>
      html`<div class="figure"><dt>${name} is better</dt><dd>${count}</dd></div>`;
    return html`<dl class="figures-grid">
        ${better(first, summary.first)} ${better(second, summary.second)} ${figure('Neither', String(summary.tie))}
        ${figure('The judge agrees with itself', `${Math.round(100 * summary.agreement)}%`)}
        ${failed === 0 ? nothing : figure('Not judged', String(failed))}
      </dl>
      <details class="fold bare">
        <summary>What it said</summary>
        <ol class="stretches">
          ${pairs.map(
            ({ line, better, explanation }) => html`<li>
              <span class="eyebrow">Row ${line} · ${better === null ? 'not judged' : words[better]}</span>
              <span class="wrap sample-text">${nameText(explanation)}</span>
            </li>`,
          )}
        </ol>
      </details>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-answer-pairs': AnswerPairs;
  }
}
