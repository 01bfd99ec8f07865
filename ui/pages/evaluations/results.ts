import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { type ComparedRow, comparedRows } from '../../../src/contract/evaluations/compared-rows.ts';
import { whyIncomparable } from '../../../src/contract/evaluations/why-incomparable.ts';
import { bestOf, figureLabel, namesOfFigures } from '../../../src/contract/evaluations.ts';
import { graderFigure } from '../../../src/contract/graders/grader-types.ts';
import { service } from '../../api/service.ts';
import type { Evaluation } from '../../api/types.ts';
import { checkField } from '../../elements/fields.ts';
import { formatCount } from '../../elements/format.ts';
import { info } from '../../elements/info/info.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, errorPanel, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { datasets, isKept, latest, models, router } from '../../state/app.ts';
import { Remote, Reread } from '../../state/remote.ts';
import { paced } from '../../state/runs/pace.ts';
import { Watch } from '../../state/store.ts';
import { copyLink } from '../../views/copy-link.ts';
import { evaluationName, evaluationState, figureText } from '../../views/evaluation-words.ts';
import { datasetLink } from '../../views/lineage/dataset-link.ts';
import '../../views/report-button.ts';
import './answer-pairs.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';

const refreshMs = 1_000;
/** Rows that are shown at first, and that “Show more” adds. */
const shownRows = 50;
/** Figures of a row that are shown below its answer, as far as it has them. */
const rowFigures = ['right_tool', 'right_arguments', 'exact_match', 'f1', 'rougeL', 'loss'] as const;

/** The results of one evaluation, or of several side by side. */
@customElement('hone-evaluation-results')
export class EvaluationResults extends LightElement {
  @state() private _isAll = false;
  @state() private _shown = shownRows;
  private _of = '';
  private readonly _found = new Remote<Evaluation[]>(() =>
    Promise.all(this._ids.map((id) => this._completed(id) ?? service.evaluation(id))),
  );
  private readonly _pace = paced(() => void this._found.refresh(), refreshMs);
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, models, router, this._found);
    new Reread(this, datasets);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = latest.subscribe(() => {
      const frame = latest.value;
      const isOwn = frame?.type === 'evaluation' && this._ids.includes(frame.evaluation_id);
      if ((isOwn && frame.state !== 'deleted') || frame?.type === 'snapshot') this._pace.ask();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    this._pace.cancel();
    this._of = '';
  }

  /** One that is known and does not change any more. */
  private _completed(id: string): Evaluation | undefined {
    return this._found.value.value?.find((one) => one.evaluation_id === id && one.state === 'completed');
  }

  private get _ids(): string[] {
    return [...new Set(router.value.query.getAll('eval'))];
  }

  protected override willUpdate(): void {
    const ids = this._ids.join();
    if (this._of === ids || !this.isConnected) return;
    this._of = ids;
    this._shown = shownRows;
    this._found.set({ value: null, error: null, loading: false });
    void this._found.refresh();
  }

  protected override render(): TemplateResult {
    const { value, error } = this._found.value;
    const all = html`<a href="/models/evaluations">All evaluations</a>`;
    return html`<div class="page">
      ${sectionTabs('Models', '/models/evaluations', true)}
      <header class="page-head">
        <h1>${this._ids.length > 1 ? 'Evaluations compared' : (this._ids[0] ?? 'Evaluation')}</h1>
        ${value === null ? nothing : html`<div class="actions">${reportButton(value)} ${copyLink()}</div>`}
      </header>
      ${
        this._ids.length === 0
          ? html`<section class="card">${empty('This address names no evaluation', all)}</section>`
          : error?.status === 404
            ? html`<section class="card">${empty(error.message, all)}</section>`
            : value !== null
              ? this._body(value)
              : error !== null
                ? serviceErrorPanel('Could not load the evaluation', error)
                : html`<section class="card tall">${skeleton(8)}</section>`
      }
    </div>`;
  }

  private _body(found: readonly Evaluation[]): TemplateResult {
    const why = whyIncomparable(found);
    return html`
      ${found.map(({ error, name }) => (error === null ? nothing : errorPanel({ title: `${name} was not scored`, cause: error })))}
      ${why === null ? nothing : html`<p class="warning"><bdi>${why}</bdi></p>`}
      ${[...new Set(found.flatMap(({ warnings }) => warnings))].map((text) => html`<p class="note wrap"><bdi>${text}</bdi></p>`)}
      ${figuresCard(found, why === null)}
      ${found.length === 2 && why === null && found.every(({ state }) => state === 'completed') ? html`<hone-answer-pairs .evaluations=${found}></hone-answer-pairs>` : nothing}
      ${why === null ? this._rows(found) : nothing}
    `;
  }

  private _rows(found: readonly Evaluation[]): TemplateResult | typeof nothing {
    const rows = comparedRows(found);
    if (rows.length === 0) return nothing;
    const isSeveral = found.length > 1;
    const wanted = isSeveral && !this._isAll ? rows.filter(({ differs }) => differs) : rows;
    return html`<section class="card" aria-labelledby="evaluation-rows">
      <header class="card-head">
        <h2 id="evaluation-rows">Rows</h2>
        ${
          isSeveral
            ? checkField('Show rows that are answered alike', this._isAll, (on) => {
                this._isAll = on;
              })
            : nothing
        }
      </header>
      <p class="note">
        ${
          isSeveral
            ? `${formatCount(rows.filter(({ differs }) => differs).length)} of the first ${formatCount(rows.length)} rows are answered differently.`
            : `The first ${formatCount(rows.length)} rows.`
        }
      </p>
      ${wanted.length === 0 ? nothing : table(found, wanted.slice(0, this._shown))}
      ${
        wanted.length > this._shown
          ? html`<div class="row end">
              <button
                type="button"
                @click=${() => {
                  this._shown += shownRows;
                }}
              >
                Show more
              </button>
            </div>`
          : nothing
      }
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-evaluation-results': EvaluationResults;
  }
}

/** A report of what was scored. */
function reportButton(found: readonly Evaluation[]): TemplateResult | typeof nothing {
  const ids = found.flatMap(({ state, evaluation_id }) => (state === 'completed' ? [evaluation_id] : []));
  return ids.length === 0 ? nothing : html`<hone-report-button .ids=${ids}></hone-report-button>`;
}

/** What was scored, as a link to the model where it is one. */
const modelLink = (one: Evaluation): TemplateResult =>
  one.model_id === null || !isKept(one.model_id)
    ? evaluationName(one)
    : html`<a href="/models/${one.model_id}">${evaluationName(one)}</a>`;

/** @param isComparable whether one of the figures may be called the best */
function figuresCard(found: readonly Evaluation[], isComparable: boolean): TemplateResult {
  const names = namesOfFigures(found);
  return html`<section class="card" aria-labelledby="figures">
    <h2 id="figures">Figures</h2>
    <div class="scroll-box" tabindex="0" role="region" aria-label="Table of figures">
      <table class="rows compared">
        <thead>
          <tr>
            <th scope="col">Model</th>
            ${found.map((one) => html`<th scope="col">${modelLink(one)} <small class="muted">${one.evaluation_id}</small></th>`)}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">State</th>
            ${found.map((one) => html`<td>${evaluationState(one)}</td>`)}
          </tr>
          <tr>
            <th scope="row">Dataset</th>
            ${found.map(({ dataset, rows }) => html`<td class="two-lines">${datasetLink(dataset)}<small class="muted">${formatCount(rows)} rows</small></td>`)}
          </tr>
          ${
            found.every(({ job_id }) => job_id === null)
              ? nothing
              : html`<tr>
                  <th scope="row">Run</th>
                  ${found.map(({ job_id }) => html`<td>${job_id === null ? '–' : html`<a href="/training/${job_id}">${job_id}</a>`}</td>`)}
                </tr>`
          }
          ${names.map((name) => {
            const values = found.map(({ figures }) => figures?.[name]);
            const best = isComparable ? bestOf(name, values) : null;
            return html`<tr>
              <th scope="row">${figureLabel(name)}${info(figureLabel(name))}</th>
              ${values.map((value, place) => html`<td class="tabular">${place === best ? html`<b>${figureText(name, value)}</b> <small>best</small>` : figureText(name, value)}</td>`)}
            </tr>`;
          })}
        </tbody>
      </table>
    </div>
  </section>`;
}

function table(found: readonly Evaluation[], rows: readonly ComparedRow[]): TemplateResult {
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of rows">
    <table class="rows compared answers">
      <thead>
        <tr>
          <th scope="col">Row</th>
          <th scope="col">Prompt and reference</th>
          ${found.map((one) => html`<th scope="col">${evaluationName(one)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ line, prompt, reference, rejected, results }) => html`<tr>
            <th scope="row">${line}</th>
            <td>
              ${text(prompt)}
              ${reference === null ? nothing : html`<small class="muted">Reference</small> ${text(reference)}`}
              ${rejected === null ? nothing : html`<small class="muted">Rejected</small> ${text(rejected)}`}
            </td>
            ${results.map((result) => html`<td>${result === null ? '–' : answer(result)}</td>`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** The first characters of a text; a row may have thousands. */
const text = (whole: string): TemplateResult =>
  html`<p class="wrap"><bdi>${whole.length > 400 ? `${whole.slice(0, 400)}…` : whole}</bdi></p>`;

function answer({
  answer: given,
  figures,
  notes = {},
}: NonNullable<ComparedRow['results'][number]>): TemplateResult {
  const { win } = figures;
  const scores = Object.entries(notes).map(([name, note]) => {
    const figure = graderFigure(name);
    return html`<small class="muted wrap">${figureLabel(figure)} <b>${figureText(figure, figures[figure])}</b>: <bdi>${note}</bdi></small>`;
  });
  const told = rowFigures.flatMap((name) =>
    figures[name] == null ? [] : [`${figureLabel(name)} ${figureText(name, figures[name])}`],
  );
  const won =
    win == null
      ? []
      : [win === 1 ? 'Prefers the chosen answer' : win === 0 ? 'Prefers the rejected answer' : 'Undecided'];
  return html`${given === null ? nothing : text(given)}${scores}
    <small class="muted">${[...won, ...told].join(' · ')}</small>`;
}
