import { html, nothing, type TemplateResult } from 'lit';
import { trackers } from '../../../src/contract/training/trackers.ts';
import type { Event } from '../../api/frames.ts';
import type { Identity, JobDetail } from '../../api/types.ts';
import { formatMoment } from '../../elements/format.ts';
import { modelName, stateBadge } from '../../elements/parts.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { sweepPath } from '../../state/router.ts';
import type { Run } from '../../state/runs/run.ts';
import { copyLink } from '../../views/copy-link.ts';
import { datasetLink } from '../../views/lineage/dataset-link.ts';
import { evaluationLinks } from '../../views/lineage/evaluation-links.ts';
import { parentLink } from '../../views/lineage/parent-link.ts';
import '../../views/identity.ts';
import '../../views/runs/run-rows.ts';

/** What a run is: its name, task, data and model, with what can be done with it. */
export function runHead(job: JobDetail, run: Run, buttons: TemplateResult): TemplateResult {
  return html`<header class="page-head run-title">
        <div>
          <p class="eyebrow tabular">${job.job_id} · ${formatMoment(job.created_at)}</p>
          <hone-identity
            .jobId=${job.job_id}
            .of=${job}
            @identified=${({ detail }: CustomEvent<Identity>) => run.identify(detail)}
          ></hone-identity>
          <p class="muted">
            ${taskName(job.task)} on
            ${datasetLink(job.dataset)}${job.validation_dataset === null ? nothing : html`, validated on ${datasetLink(job.validation_dataset)}`}
            · ${strategyName(job.strategy)} · ${job.provider}${workersWords(job)} · base ${modelName(job.model_name)}
          </p>
          ${job.parent === null ? nothing : html`<p class="muted">Goes on from ${parentLink(job.parent)}</p>`}
          <hone-run-rows .jobId=${job.job_id}></hone-run-rows>
          ${descent(job)} ${trackerLinks(run.events)}
        </div>
        <div class="actions">${stateBadge(job.state)} ${buttons} ${copyLink()}</div>
      </header>`;
}

/** The sweep that a run is a trial of, and the evaluations of its model and checkpoints. */
function descent({ sweep_id: sweep, job_id, model_id }: JobDetail): TemplateResult | typeof nothing {
  const found = evaluationLinks((one) => one.job_id === job_id || one.model_id === model_id);
  if (sweep === null && found === null) return nothing;
  return html`<p class="muted">
    ${sweep === null ? nothing : html`Trial of <a href=${sweepPath(sweep)}>${sweep}</a>`}${sweep === null || found === null ? nothing : ' · '}${found === null ? nothing : html`Evaluations: ${found}`}
  </p>`;
}

/** Where trackers have the run, as far as a browser can open it. */
function trackerLinks(events: readonly Event[]): TemplateResult | typeof nothing {
  const urls = new Map(
    events.flatMap((event) =>
      event.type === 'log' && event.tracker !== undefined && event.url !== undefined
        ? [[event.tracker, event.url]]
        : [],
    ),
  );
  if (urls.size === 0) return nothing;
  return html`<p class="muted">
    Figures in
    ${[...urls].map(([name, url], at) => html`${at === 0 ? nothing : ', '}<a href=${url} target="_blank" rel="noreferrer">${trackers[name].label}</a>`)}
  </p>`;
}

/** That a run has several workers, and where they are or were when it was last started. */
function workersWords({ settings: { workers }, engine }: JobDetail): string {
  if (typeof workers !== 'number' || workers === 1) return '';
  const nodes = Object.keys(engine?.nodes ?? {}).length;
  const places: Record<string, string> = {
    local: ' on this machine',
    cluster: ` on a cluster (${nodes} ${nodes === 1 ? 'node' : 'nodes'})`,
  };
  return ` · ${workers} workers${places[engine?.name ?? ''] ?? ''}`;
}
