import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { SweepSummary } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { formatMoment, formatNumber } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, modelName, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { latest, sweeps } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';
import { sweepPath } from '../../state/router.ts';
import { sweepBadge } from '../../views/sweep-words.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';

/** All sweeps, newest first. */
@customElement('hone-sweeps')
export class Sweeps extends LightElement {
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Reread(this, sweeps);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = latest.subscribe(() => {
      const type = latest.value?.type;
      if (type === 'sweep' || type === 'snapshot') void sweeps.refresh();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${sectionTabs('Training', '/training/sweeps')}
      <header class="page-head">
        <div>
          <h1>Sweeps</h1>
          <p class="muted">Try combinations of settings to find the best.</p>
        </div>
      </header>
      <section class="card" aria-label="Sweeps">${this._body()}</section>
    </div>`;
  }

  private _body(): TemplateResult {
    const { value, error } = sweeps.value;
    if (value === null) {
      return error === null ? skeleton(6) : serviceErrorPanel('Could not load the sweeps', error);
    }
    if (value.length === 0) {
      return empty('No sweeps yet', html`Start one under <a href="/training/sweeps/new">New sweep</a>.`);
    }
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of sweeps">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Sweep</th>
            <th scope="col">Model and dataset</th>
            <th scope="col">State</th>
            <th scope="col" class="right">Trials</th>
            <th scope="col" class="right spare-narrow">Best</th>
            <th scope="col" class="right spare">Created</th>
          </tr>
        </thead>
        <tbody>
          ${keyedRow(
            value,
            ({ sweep_id }) => sweep_id,
            (sweep) => row(sweep),
          )}
        </tbody>
      </table>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-sweeps': Sweeps;
  }
}

const row = (sweep: SweepSummary): TemplateResult => html`<tr>
  <th scope="row"><a href=${sweepPath(sweep.sweep_id)}>${sweep.sweep_id}</a></th>
  <td class="two-lines">${modelName(sweep.model_name)}<small class="muted">${nameText(sweep.dataset)}</small></td>
  <td>${sweepBadge(sweep.state)}</td>
  <td class="right">${sweep.ended} of ${sweep.trials}</td>
  <td class="right two-lines spare-narrow">
    ${formatNumber(sweep.best?.value)}<small class="muted">${metricName(sweep.metric)}</small>
    ${sweep.best?.display_name == null ? nothing : html`<small class="muted cut">${nameText(sweep.best.display_name)}</small>`}
  </td>
  <td class="right spare">${formatMoment(sweep.created_at)}</td>
</tr>`;
