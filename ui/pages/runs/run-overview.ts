import { html, nothing, type TemplateResult } from 'lit';
import type { JobDetail } from '../../api/types.ts';
import type { ChartGroup } from '../../charts/chart-group.ts';
import { isKept } from '../../state/app.ts';
import { isActive } from '../../state/runs/job-words.ts';
import type { Run } from '../../state/runs/run.ts';
import { endNoticeButton } from '../../views/end-notice-button.ts';
import { metricFigures } from '../../views/runs/run-charts.ts';
import { consumptionNote, runError, runFigures, runProgress } from '../../views/runs/run-view.ts';
import { verdictView } from '../../views/runs/verdict/verdict.ts';
import { verificationFigures } from '../../views/runs/verdict/verification.ts';
import { chartsCard } from './charts-card.ts';
import '../../views/runs/live-hardware.ts';
import '../../views/export/model-export.ts';

/** While it runs, its progress and charts; then what it gained, or why it ended. */
export function runOverview(job: JobDetail, run: Run, group: ChartGroup): TemplateResult {
  // One that has just been completed has its verdict in a moment: until then nothing moves.
  const isRunning = isActive(job.state) || job.state === 'completed';
  if (job.verdict === null) {
    return html`${runError(job)}
        <div class=${isRunning ? 'run-head' : ''}>
          <section class="card" aria-label="Progress">
            ${progressOf(job, run)} ${isRunning ? endNoticeButton() : nothing}
          </section>
          ${isRunning ? html`<hone-live-hardware></hone-live-hardware>` : nothing}
        </div>
        ${chartsCard(job, run, group)}`;
  }
  return html`${verdictView(job, job.verdict, isKept(job.model_id))}
      ${
        isKept(job.model_id)
          ? html`<hone-model-export .modelId=${job.model_id} @made=${() => run.load()}></hone-model-export>`
          : nothing
      }
      ${detailsCard(job, run)} ${chartsCard(job, run, group)}`;
}

/** The progress of a run, and the figures of its latest step. */
function progressOf(job: JobDetail, run: Run): TemplateResult {
  return html`${runProgress(job)} ${isActive(job.state) || job.last_metric !== null ? runFigures(job, run) : nothing}`;
}

/** What experts look at in a completed run. */
function detailsCard(job: JobDetail, run: Run): TemplateResult {
  return html`<section class="card" aria-label="Details">
    <details class="fold bare">
      <summary>Details</summary>
      ${progressOf(job, run)} ${metricFigures(job.metrics)} ${verificationFigures(job.verification)}
      ${consumptionNote(job)}
    </details>
  </section>`;
}
