import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { GraderScores } from '../../api/types.ts';
import { selectField } from '../../elements/fields.ts';
import { formatNumber } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets, graders, models } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';

const testedRows = 3;

/** Tries a grader on the first rows of a dataset, with a model that answers them. */
@customElement('hone-grader-test')
export class GraderTest extends LightElement {
  @state() private _grader = '';
  @state() private _dataset = '';
  @state() private _model = '';
  @state() private _scores: GraderScores | null = null;
  private readonly _action = new Action(this);

  constructor() {
    super();
    new Watch(this, datasets, graders, models);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void datasets.refresh();
    void models.refresh();
  }

  private async _test(event: Event): Promise<void> {
    event.preventDefault();
    const { _grader: grader, _dataset: dataset, _model: model } = this;
    await this._action.run(async () => {
      this._scores = null;
      const { lines } = await service.dataset(dataset, { rows: testedRows });
      const texts = await Promise.all(lines.map((line) => service.datasetRow(dataset, line)));
      const items = texts.map(({ text }) => ({ item: JSON.parse(text) as Record<string, unknown> }));
      this._scores = await service.testGrader({ grader, rows: items, model });
    });
  }

  protected override render(): TemplateResult {
    const usable = (datasets.value.value ?? []).filter(({ valid }) => valid);
    const isComplete = [this._grader, this._dataset, this._model].every((chosen) => chosen !== '');
    return html`<form class="grader-form" @submit=${(event: Event) => this._test(event)}>
        <div class="fields">
          ${selectField(
            {
              name: 'Grader',
              id: 'tested-grader',
              value: this._grader,
              empty: 'Choose…',
              choices: (graders.value.value ?? []).map(({ name }) => [name, name] as const),
            },
            (value) => {
              this._grader = value;
            },
          )}
          ${selectField(
            {
              name: 'Dataset',
              id: 'tested-dataset',
              value: this._dataset,
              empty: 'Choose…',
              choices: usable.map(({ filename }) => [filename, filename] as const),
            },
            (value) => {
              this._dataset = value;
            },
          )}
          ${selectField(
            {
              name: 'Model',
              id: 'tested-model',
              value: this._model,
              empty: 'Choose…',
              choices: (models.value.value ?? []).map(
                ({ model_id, display_name, name }) => [model_id, display_name || name] as const,
              ),
            },
            (value) => {
              this._model = value;
            },
          )}
        </div>
        <div class="row end">
          <button type="submit" ?disabled=${this._action.busy || !isComplete}>Test on ${testedRows} rows</button>
        </div>
      </form>
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not test the grader', this._action.error)}
      ${this._scores === null ? nothing : this._table(this._scores)}`;
  }

  private _table({ results, mean }: GraderScores): TemplateResult {
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of scores">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Row</th>
            <th scope="col">Answer</th>
            <th scope="col" class="right">Score</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          ${results.map(
            ({ answer, value, error, explanation }, at) => html`<tr>
              <th scope="row">${at + 1}</th>
              <td><p class="wrap"><bdi>${answer}</bdi></p></td>
              <td class="right tabular">${error === null ? formatNumber(value, 3) : 'error'}</td>
              <td><small class="wrap"><bdi>${error ?? explanation}</bdi></small></td>
            </tr>`,
          )}
        </tbody>
      </table>
      <p role="status">Mean ${formatNumber(mean, 3)}</p>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-grader-test': GraderTest;
  }
}
