import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { EvaluationSummary } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { formatCount, formatMoment, formatNumber } from '../../elements/format.ts';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { evaluations, latest, router, toasts } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';
import { evaluationsPath } from '../../state/router.ts';
import { paced } from '../../state/runs/pace.ts';
import { Watch } from '../../state/store.ts';
import { tellDeletion } from '../../state/tell-deletion.ts';
import { evaluationName, evaluationState, mainFigures } from '../../views/evaluation-words.ts';
import { ChosenEntries } from '../../views/lists/chosen-entries.ts';
import { ListOrder } from '../../views/lists/list-order.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import './evaluation-form.ts';
import './eval-list.ts';
import { LightElement } from '../../elements/light-element.ts';

/** As many are shown side by side. */
const comparedLimit = 6;
const refreshMs = 500;

/** What the list of evaluations can be ordered by. */
const orders = {
  evaluation: ({ evaluation_id }: EvaluationSummary) => Number(evaluation_id.split('_')[1]),
  name: ({ name, dataset }: EvaluationSummary) => `${name} ${dataset}`.toLowerCase(),
  state: ({ state }: EvaluationSummary) => state,
  loss: ({ figures }: EvaluationSummary) => figures?.loss ?? null,
  figures: (evaluation: EvaluationSummary) => mainFigures(evaluation)[0]?.value ?? null,
  created: ({ created_at }: EvaluationSummary) => created_at,
} as const;

/** All evaluations, in the order that the URL holds, and the form for a new one. */
@customElement('hone-evaluations')
export class Evaluations extends LightElement {
  private readonly _removal = new Action(this);
  /** The finished evaluation whose deletion is being asked for. */
  @state() private _deleting: string | null = null;
  private readonly _chosen = new ChosenEntries<EvaluationSummary>(this, ({ evaluation_id }) => evaluation_id);
  private readonly _order = new ListOrder(Object.keys(orders), { key: 'evaluation', down: true });
  private readonly _pace = paced(() => void evaluations.refresh(), refreshMs);
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Reread(this, evaluations);
    new Watch(this, router);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = latest.subscribe(() => {
      const type = latest.value?.type;
      if (type === 'evaluation' || type === 'snapshot') this._pace.ask();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    this._pace.cancel();
  }

  protected override render(): TemplateResult {
    const known = evaluations.value.value ?? [];
    const chosen = known.filter((one) => this._chosen.has(one)).map(this._chosen.idOf);
    return html`<div class="page">
      ${sectionTabs('Models', '/models/evaluations')}
      <header class="page-head">
        <div>
          <h1>Evaluations</h1>
          <p class="muted">Score any dataset with any model. Evaluations wait for running trainings.</p>
        </div>
        <div class="actions">
          ${
            chosen.length < 2
              ? known.filter(({ state: now }) => now === 'completed').length < 2
                ? nothing
                : html`<span class="hint">Choose two or more to compare.</span>`
              : html`<a class="button" href=${evaluationsPath(chosen)}>Compare ${chosen.length}</a>`
          }
        </div>
      </header>
      <section class="card" aria-labelledby="new-evaluation">
        <h2 id="new-evaluation">New evaluation</h2>
        <hone-evaluation-form></hone-evaluation-form>
      </section>
      <section class="card" aria-label="Evaluations">${this._body(chosen)}</section>
      <hone-eval-list></hone-eval-list>
      ${this._dialog()}
    </div>`;
  }

  private _body(chosen: readonly string[]): TemplateResult {
    const { value, error } = evaluations.value;
    if (value === null) {
      return error === null ? skeleton(6) : serviceErrorPanel('Could not load the evaluations', error);
    }
    const order = this._order;
    if (value.length === 0) return empty('No evaluations yet', 'Choose a dataset and a model above.');
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of evaluations">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col"><span class="off-screen">Compare</span></th>
            ${order.heading('evaluation', 'Evaluation')} ${order.heading('name', 'Model and dataset')}
            ${order.heading('state', 'State')} ${order.heading('loss', 'Loss', 'right spare-narrow')}
            ${order.heading('figures', 'Figures', 'spare-narrow')} ${order.heading('created', 'Created', 'right spare')}
            <th scope="col"><span class="off-screen">Delete</span></th>
          </tr>
        </thead>
        <tbody>
          ${keyedRow(
            order.sort(value, (evaluation, key) => orders[key as keyof typeof orders](evaluation)),
            this._chosen.idOf,
            (evaluation) => this._row(evaluation, chosen),
          )}
        </tbody>
      </table>
    </div>`;
  }

  private _row(evaluation: EvaluationSummary, chosen: readonly string[]): TemplateResult {
    const { evaluation_id: id, state: now, error, figures } = evaluation;
    const loss = formatNumber(figures?.loss, 3);
    const main = mainFigures(evaluation).map(({ text }) => text);
    const isOver = now === 'completed' || now === 'failed';
    const isFull = chosen.length >= comparedLimit && !chosen.includes(id);
    return html`<tr>
      <td>
        <input
          type="checkbox"
          aria-label="Compare ${id}"
          ?disabled=${now !== 'completed' || isFull}
          .checked=${this._chosen.has(evaluation)}
          @change=${(event: Event) => this._chosen.choose([evaluation], (event.target as HTMLInputElement).checked)}
        />
      </td>
      <th scope="row"><a href=${evaluationsPath([id])}>${id}</a></th>
      <td class="two-lines">
        ${evaluationName(evaluation)}<small class="muted"><bdi class="wrap">${evaluation.dataset}</bdi>, ${formatCount(evaluation.rows)} rows</small>
      </td>
      <td class="two-lines">
        ${evaluationState(evaluation)}
        ${figures === null ? nothing : html`<small class="only-narrow">${[...main, `Loss ${loss}`].join(' · ')}</small>`}
        ${error === null ? nothing : html`<small class="wrap"><bdi>${error}</bdi></small>`}
      </td>
      <td class="right spare-narrow">${loss}</td>
      <td class="spare-narrow">${main.slice(0, 3).join(' · ') || '–'}</td>
      <td class="right spare">${formatMoment(evaluation.created_at)}</td>
      <td>
        <button
          type="button"
          aria-label="${isOver ? 'Delete' : 'Cancel'} ${id}"
          ?disabled=${this._removal.busy}
          @click=${() => {
            if (isOver) this._deleting = id;
            else void this._remove(id);
          }}
        >
          ${isOver ? 'Delete…' : 'Cancel'}
        </button>
      </td>
    </tr>`;
  }

  private _dialog(): TemplateResult | typeof nothing {
    const id = this._deleting;
    if (id === null) return nothing;
    const close = () => this.querySelector('dialog')?.close();
    const content = html`<p>It is kept in the bin for seven days if it has ended.</p>
      <div class="row end">
        <button type="button" @click=${close}>Cancel</button>
        <button
          type="button"
          class="danger"
          ?disabled=${this._removal.busy}
          @click=${async () => {
            await this._remove(id);
            close();
          }}
        >
          Delete evaluation
        </button>
      </div>`;
    return html`<hone-dialog
      heading="Delete ${id}?"
      .content=${content}
      @dismiss=${() => {
        this._deleting = null;
      }}
    ></hone-dialog>`;
  }

  private async _remove(id: string): Promise<void> {
    await this._removal.run(async () => {
      tellDeletion(await service.removeEvaluation(id), () => evaluations.refresh());
      this._chosen.keep(this._chosen.ids.filter((other) => other !== id));
    });
    if (this._removal.error !== null) toasts.show(this._removal.error.message, 'error');
    void evaluations.refresh();
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-evaluations': Evaluations;
  }
}
