import { html, nothing, type TemplateResult } from 'lit';
import type { JobDetail } from '../../api/types.ts';
import type { ChartGroup } from '../../charts/chart-group.ts';
import { formatCount } from '../../elements/format.ts';
import { empty } from '../../elements/parts.ts';
import { isActive } from '../../state/runs/job-words.ts';
import type { Run } from '../../state/runs/run.ts';
import { runCharts } from '../../views/runs/run-charts.ts';

/** The charts of a run, or that it has none. */
export function chartsCard(job: JobDetail, run: Run, group: ChartGroup): TemplateResult {
  if (run.series.steps.length === 0) {
    return html`<section class="card">
        ${empty(
          'No charts yet',
          isActive(job.state)
            ? 'Charts appear after the first step.'
            : 'This run ended before its first step.',
        )}
      </section>`;
  }
  return html`<section class="card" aria-labelledby="charts">
      <h2 class="off-screen" id="charts">Charts</h2>
      <hone-chart-toolbar .group=${group}></hone-chart-toolbar>
      ${runCharts(run, group)} ${thinned(run)}
      <p class="note">
        Outliers are left out of the range unless it has all values: they are farther from the middle 90% than 1.5 times
        its width.
        <span class="on-screen">Drag to zoom, Shift-drag to pan, double-click to reset. The buttons and arrow keys also work.</span>
      </p>
    </section>`;
}

/** A note when the chart shows only some of the steps. */
function thinned({ series: { steps } }: Run): TemplateResult | typeof nothing {
  const last = steps.at(-1) ?? 0;
  // Step 0 has an evaluation alone.
  const first = steps[0] === 0 ? 1 : 0;
  const shown = steps.length - first;
  return last <= shown + (steps[first] ?? 0)
    ? nothing
    : html`<p class="note tabular">Showing ${formatCount(shown)} of ${formatCount(last)} steps.</p>`;
}
