import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import { keyedRow } from '../../elements/child.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { router, toasts } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';
import { evalPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import './eval-items.ts';
import { moment } from './eval-list.ts';

/** How often a run that has not ended is looked at. */
const pollMs = 2_000;

type Eval = Awaited<ReturnType<typeof service.eval>>;
type Run = Awaited<ReturnType<typeof service.evalRuns>>['data'][number];
/** What is deleted: the eval, or a run of it. */
type Deletion = { readonly name: string; readonly run: string | null };

/** An eval of OpenAI's API with its runs, and the rows of the run that the address names. */
@customElement('hone-eval')
export class EvalPage extends LightElement {
  @property({ attribute: false }) evalId = '';
  @state() private _found: { readonly eval: Eval; readonly runs: readonly Run[] } | ServiceError | null =
    null;
  @state() private _deleting: Deletion | null = null;
  private readonly _removal = new Action(this);
  private _timer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    super();
    new Watch(this, router);
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has('evalId')) return;
    this._found = null;
    void this._read();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
  }

  private async _read(): Promise<void> {
    if (this._timer !== null) clearTimeout(this._timer);
    try {
      const [found, runs] = await Promise.all([service.eval(this.evalId), service.evalRuns(this.evalId)]);
      this._found = { eval: found, runs: runs.data };
      const isUnderway = runs.data.some(({ status }) => status === 'queued' || status === 'in_progress');
      if (isUnderway && this.isConnected) this._timer = setTimeout(() => void this._read(), pollMs);
    } catch (error) {
      this._found = asServiceError(error);
    }
  }

  protected override render(): TemplateResult {
    return html`<div class="page">${sectionTabs('Models', '/models/evaluations', true)} ${this._body()} ${this._dialog()}</div>`;
  }

  private _body(): TemplateResult {
    const found = this._found;
    if (found === null) return skeleton(6);
    if ('status' in found)
      return html`<h1>Eval</h1>
        ${serviceErrorPanel('Could not load the eval', found)}`;
    const { id, name, testing_criteria: criteria, created_at: created } = found.eval;
    const shown = found.runs.find((run) => run.id === router.value.query.get('run')) ?? found.runs[0];
    return html`<header class="page-head">
        <div>
          <h1>${nameText(name || id)}</h1>
          <p class="muted">
            Created ${moment(created)}. Criteria: ${criteria.map((one) => `${one.name} (${one.type})`).join(', ')}.
          </p>
        </div>
        <div class="actions">
          <button type="button" class="danger" @click=${() => this._ask({ name: name || id, run: null })}>
            Delete eval…
          </button>
        </div>
      </header>
      <section class="card" aria-labelledby="runs">
        <h2 id="runs">Runs</h2>
        ${shown === undefined ? empty('No runs yet', 'Scripts start them.') : this._runs(found.runs, shown)}
      </section>
      ${shown === undefined ? nothing : this._rows(shown)}`;
  }

  private _runs(runs: readonly Run[], shown: Run): TemplateResult {
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of runs">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Results</th>
            <th scope="col" class="right spare">Created</th>
            <th scope="col"><span class="off-screen">Delete</span></th>
          </tr>
        </thead>
        <tbody>
          ${runs.map((run) => this._row(run, run === shown))}
        </tbody>
      </table>
    </div>`;
  }

  private _row(run: Run, isShown: boolean): TemplateResult {
    const { id, name, status, model, error, result_counts: counts } = run;
    return html`<tr>
      <th scope="row" class="two-lines">
        <a href=${evalPath(this.evalId, id)} aria-current=${isShown ? 'true' : nothing}>${nameText(name || id)}</a>
        <small class="muted">${model === null ? 'given answers' : nameText(model)}</small>
      </th>
      <td class="two-lines">
        ${status.replaceAll('_', ' ')},
        ${formatCount(counts.passed)} of ${formatCount(counts.total)} passed${counts.errored === 0 ? '' : `, ${formatCount(counts.errored)} errors`}
        ${error === null ? nothing : html`<small class="wrap"><bdi>${error.message}</bdi></small>`}
        ${run.per_testing_criteria_results.map(
          (one) =>
            html`<small class="wrap">${one.testing_criteria}: ${formatCount(one.passed)} of ${formatCount(one.passed + one.failed)}</small>`,
        )}
      </td>
      <td class="right spare">${moment(run.created_at)}</td>
      <td class="right">
        <button
          type="button"
          class="small danger"
          aria-label="Delete ${name || id}"
          @click=${() => this._ask({ name: name || id, run: id })}
        >
          Delete…
        </button>
      </td>
    </tr>`;
  }

  private _rows(run: Run): TemplateResult {
    return html`<section class="card" aria-labelledby="rows">
      <h2 id="rows">Rows of <bdi class="wrap">${run.name || run.id}</bdi></h2>
      ${keyedRow(
        [run],
        // Its rows are read again when it has ended.
        ({ id, status }) => `${id} ${status}`,
        ({ id }) => html`<hone-eval-items .evalId=${this.evalId} .runId=${id}></hone-eval-items>`,
      )}
    </section>`;
  }

  private _ask(deletion: Deletion): void {
    this._deleting = deletion;
  }

  private _dialog(): TemplateResult | typeof nothing {
    const deletion = this._deleting;
    if (deletion === null) return nothing;
    const close = () => this.querySelector('dialog')?.close();
    const content = html`<p>
        ${deletion.run === null ? 'Its runs are deleted, too.' : 'Its results are deleted, too.'} This cannot be undone.
      </p>
      <div class="row end">
        <button type="button" @click=${close}>Cancel</button>
        <button
          type="button"
          class="danger"
          ?disabled=${this._removal.busy}
          @click=${async () => {
            await this._remove(deletion);
            close();
          }}
        >
          Delete for good
        </button>
      </div>`;
    return html`<hone-dialog
      heading="Delete ${deletion.name}?"
      .content=${content}
      @dismiss=${() => {
        this._deleting = null;
      }}
    ></hone-dialog>`;
  }

  private async _remove({ name, run }: Deletion): Promise<void> {
    await this._removal.run(async () => {
      if (run === null) await service.removeEval(this.evalId);
      else await service.removeEvalRun(this.evalId, run);
      toasts.show(`${name} was deleted`);
      if (run === null) router.go('/models/evaluations');
      else await this._read();
    });
    if (this._removal.error !== null) toasts.show(this._removal.error.message, 'error');
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-eval': EvalPage;
  }
}
