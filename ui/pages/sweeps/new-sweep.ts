import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { graderFigure } from '../../../src/contract/graders/grader-types.ts';
import { type Direction, directionOf, sweepBounds } from '../../../src/contract/sweeps.ts';
import type { ServiceError } from '../../api/request.ts';
import { type SweepBody, service } from '../../api/service.ts';
import { checkField, textField } from '../../elements/fields.ts';
import { formatCount } from '../../elements/format.ts';
import { figure, modelName, nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { draftFaults, draftMissing, draftRequest } from '../../settings/draft-request.ts';
import { formDefaults } from '../../settings/form-defaults.ts';
import { settingLabel } from '../../settings/setting-values.ts';
import { combinations, dimensionFields, readSpace } from '../../settings/sweep-space.ts';
import { choices, datasets, graders, router, settings, sweeps } from '../../state/app.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { draft } from '../../state/drafts/draft.ts';
import { sweepDraft } from '../../state/drafts/sweep-draft.ts';
import { presetFacts } from '../../state/preset-facts.ts';
import { asServiceError } from '../../state/remote.ts';
import { sweepPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import './space-form.ts';
import { LightElement } from '../../elements/light-element.ts';

/** The form for a new sweep: the training form's settings, and which of them vary. */
@customElement('hone-new-sweep')
export class NewSweep extends LightElement {
  @state() private _starting = false;
  @state() private _error: ServiceError | null = null;

  constructor() {
    super();
    new Watch(this, choices, datasets, draft, graders, settings, sweepDraft, presetFacts);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    choices.ensure();
    settings.ensure();
    void datasets.refresh();
    void graders.refresh();
  }

  protected override willUpdate(): void {
    presetFacts.follow();
  }

  private get _dimensions() {
    return dimensionFields(sweepDraft.value, draft.value.strategy);
  }

  /** Everything that is missing or wrong. */
  private get _missing(): string[] {
    const dimensions = this._dimensions;
    const base = draftMissing();
    const { trials, metric } = sweepDraft.value;
    const count = Number(trials);
    const isCount = Number.isInteger(count) && count >= 1 && count <= sweepBounds.trials;
    const faults = dimensions.flatMap(({ read }) => ('fault' in read ? [read.fault] : []));
    const most = combinations(dimensions);
    return [
      ...(base === null ? [] : [base]),
      ...draftFaults().map(({ message }) => message),
      ...(this._isValidated
        ? []
        : ['Set a validation share: trials are compared on rows that they are not trained on.']),
      ...(dimensions.length === 0 ? ['Add a setting that varies.'] : faults),
      ...(isCount ? [] : [`Trials must be a whole number from 1 to ${formatCount(sweepBounds.trials)}.`]),
      ...(metric.trim() === '' ? ['Name a metric.'] : []),
      ...(dimensions.length > 0 && faults.length === 0 ? tooMany(most, count) : []),
    ];
  }

  private get _isValidated(): boolean {
    const { eval_split: split, validation_dataset: dataset } = draftRequest();
    return dataset !== undefined || (typeof split === 'number' && split > 0);
  }

  private get _body(): SweepBody {
    const { trials, metric, direction, culling } = sweepDraft.value;
    // Trials are compared, and the best is trained again: none of them needs more than its last checkpoint.
    const { keep_best, ...shared } = draftRequest();
    return {
      ...shared,
      keep_best: draft.value.settings.keep_best === undefined ? undefined : keep_best,
      space: readSpace(this._dimensions),
      trials: Number(trials),
      metric: metric.trim(),
      direction: direction || undefined,
      culling,
    };
  }

  private async _start(event: Event): Promise<void> {
    event.preventDefault();
    if (this._starting || this._missing.length > 0) return;
    this._starting = true;
    this._error = null;
    try {
      await presetFacts.ready();
      const { sweep_id } = await service.startSweep(this._body);
      void sweeps.refresh();
      router.go(sweepPath(sweep_id));
    } catch (error) {
      this._error = asServiceError(error);
      await this.updateComplete;
      this.querySelector('.plan .panel-error')?.scrollIntoView({ block: 'center' });
    } finally {
      this._starting = false;
    }
  }

  protected override render(): TemplateResult {
    const { task, model, dataset, strategy, validationDataset } = draft.value;
    return html`<div class="page">
      ${sectionTabs('Training', '/training/sweeps')}
      <h1>New sweep</h1>
      <form class="training" novalidate @submit=${this._start} @input=${this._edited}>
        <div class="column">
          <section class="card" aria-labelledby="step-base">
            <header class="card-head">
              <h2 id="step-base"><span class="step-number">1</span> Training</h2>
              <a href="/training">Change in the training form</a>
            </header>
            <dl class="facts">
              <div class="figure"><dt>Task</dt><dd>${taskName(task)}</dd></div>
              <div class="figure"><dt>Model</dt><dd>${model === '' ? '–' : modelName(model)}</dd></div>
              <div class="figure"><dt>Dataset</dt><dd>${dataset === '' ? '–' : nameText(dataset)}</dd></div>
              <div class="figure"><dt>Strategy</dt><dd>${strategyName(strategy)}</dd></div>
              ${this._changed()}
            </dl>
            ${
              validationDataset === ''
                ? this._split()
                : html`<p class="note">Trials are compared on the validation dataset ${nameText(validationDataset)}.</p>`
            }
          </section>
          <section class="card" aria-labelledby="step-space">
            <h2 id="step-space"><span class="step-number">2</span> Settings that vary</h2>
            <hone-space-form></hone-space-form>
          </section>
          ${this._search()}
        </div>
        ${this._plan()}
      </form>
    </div>`;
  }

  /** The number of settings that were changed in the training form. */
  private _changed(): TemplateResult | typeof nothing {
    const changed = Object.keys(draft.value.settings);
    return changed.length === 0 ? nothing : figure('Changed settings', changed.map(settingLabel).join(', '));
  }

  private _split(): TemplateResult {
    const given = String(formDefaults().eval_split || '');
    return html`<div class="fields">
      ${textField(
        {
          name: 'Validation share',
          id: 'sweep-split',
          value: draft.value.settings.eval_split ?? given,
          hint: 'The share of rows on which trials are compared. They are not trained on. 0.1 holds out one in ten.',
          fault: !this._isValidated,
          placeholder: '0.1',
          inputMode: 'decimal',
        },
        (text) => draft.setting('eval_split', text === given ? null : text),
        // An emptied field stays empty while edited.
        (text) => {
          if (text.trim() === '') draft.setting('eval_split', null);
        },
      )}
    </div>`;
  }

  private _search(): TemplateResult {
    const { trials, metric, direction, culling } = sweepDraft.value;
    const ofGraders = (graders.value.value ?? []).map(({ name }) => graderFigure(name));
    const own = directionOf(metric) === 'minimize' ? 'lower is better' : 'higher is better';
    return html`<section class="card" aria-labelledby="step-search">
      <h2 id="step-search"><span class="step-number">3</span> Search</h2>
      <div class="fields">
        ${textField(
          {
            name: 'Trials',
            id: 'sweep-trials',
            value: trials,
            hint: 'Trainings to make. The first ten or so explore; the next ones stay near the best.',
            inputMode: 'numeric',
          },
          (text) => sweepDraft.change({ trials: text }),
        )}
        ${textField(
          {
            name: 'Metric',
            id: 'sweep-metric',
            value: metric,
            hint: html`A metric of the evaluations. <code>eval_loss</code> is always there.
              ${ofGraders.length === 0 ? nothing : 'Or the score of a grader:'}
              ${ofGraders.map(
                (name) =>
                  html`<button type="button" class="link" @click=${() => sweepDraft.change({ metric: name })}>
                    ${nameText(name)}
                  </button> `,
              )}`,
          },
          (text) => sweepDraft.change({ metric: text }),
        )}
        <div class="field">
          <label for="sweep-direction">Better</label>
          <select
            id="sweep-direction"
            .value=${direction}
            @change=${(event: Event) => sweepDraft.change({ direction: (event.target as HTMLSelectElement).value as Direction | '' })}
          >
            <option value="" ?selected=${direction === ''}>automatic (${own})</option>
            <option value="minimize" ?selected=${direction === 'minimize'}>lower</option>
            <option value="maximize" ?selected=${direction === 'maximize'}>higher</option>
          </select>
        </div>
      </div>
      ${checkField('Stop poor trials early', culling, (on) => sweepDraft.change({ culling: on }))}
      <p class="hint">
        At a ninth and at a third of its steps, a trial continues only if it is among the best third so far. Those that were
        stopped can be resumed.
      </p>
    </section>`;
  }

  private _plan(): TemplateResult {
    const missing = this._missing;
    const dimensions = this._dimensions;
    const most = combinations(dimensions);
    return html`<aside class="plan card" aria-labelledby="plan">
      <h2 id="plan">Summary</h2>
      <dl class="facts">
        ${figure('Varies', dimensions.length === 0 ? '–' : dimensions.map(({ field }) => field.label).join(', '))}
        ${figure('Combinations', dimensions.length === 0 ? '–' : most === Number.POSITIVE_INFINITY ? 'unlimited' : formatCount(most))}
        ${figure('Trials', sweepDraft.value.trials)}
      </dl>
      ${this._error === null ? nothing : serviceErrorPanel('Could not start the sweep', this._error)}
      <button class="primary wide" type="submit" ?disabled=${this._starting || missing.length > 0}>
        ${this._starting ? 'Starting…' : 'Start sweep'}
      </button>
      <div role="status">
        ${
          missing.length === 0
            ? html`<p class="note">Trials run in the same queue as other runs. You can close this page.</p>`
            : html`<ul class="notes note">${missing.map((text) => html`<li>${text}</li>`)}</ul>`
        }
      </div>
    </aside>`;
  }

  /** Clears the service's errors as soon as the form is edited. */
  private _edited(): void {
    if (this._error !== null) this._error = null;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-new-sweep': NewSweep;
  }
}

function tooMany(most: number, trials: number): string[] {
  if (most === 1) return ['There is a single combination. Add values.'];
  return trials > most
    ? [`There are ${formatCount(most)} combinations, fewer than the trials. Lower the trials, or add values.`]
    : [];
}
