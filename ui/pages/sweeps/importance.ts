import { html, nothing, type TemplateResult } from 'lit';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { Sweep } from '../../api/types.ts';
import { formatPercent } from '../../elements/format.ts';
import { progressBar } from '../../elements/parts.ts';
import { settingLabel } from '../../settings/setting-values.ts';

/** Weaker rank correlations say nothing. */
const clearCorrelation = 0.3;

/** How much of the order of the results goes with each setting, as bars. */
export function importanceBars({ importance, metric, direction, culling }: Sweep): TemplateResult {
  if (importance.length === 0) {
    return html`<p class="note">Shown when four trials ${culling ? 'were evaluated' : 'are completed'}.</p>`;
  }
  const name = metricName(metric).toLowerCase();
  return html`
    ${importance.map(({ field, share, correlation }) => {
      const label = settingLabel(field);
      return html`<div class="meter">
        <p class="row between"><span>${label}</span><span class="tabular">${formatPercent(share, 2)}</span></p>
        ${progressBar(`Importance of ${label}`, 100 * share)}
        ${trend(correlation, direction)}
      </div>`;
    })}
    <p class="note">
      How much of the order of the trials by ${name} each setting explains alone${culling ? ', at their first evaluation' : ''}.
    </p>
  `;
}

function trend(correlation: number | null, direction: Sweep['direction']): TemplateResult | typeof nothing {
  if (correlation === null || Math.abs(correlation) < clearCorrelation) return nothing;
  const isHigherBetter = direction === 'maximize' ? correlation > 0 : correlation < 0;
  return html`<p class="hint">${isHigherBetter ? 'Higher' : 'Lower'} values did better.</p>`;
}
