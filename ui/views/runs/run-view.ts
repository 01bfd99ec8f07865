import { html, nothing, type TemplateResult } from 'lit';
import type { Job, JobDetail } from '../../api/types.ts';
import { smoothedEnd } from '../../charts/smoothing.ts';
import { formatCount, formatMemory, formatNumber, formatPercent } from '../../elements/format.ts';
import { errorPanel, figure, progressBar } from '../../elements/parts.ts';
import { chartOptions } from '../../state/runs/chart-options.ts';
import { isActive, phaseName, runStages, stateName } from '../../state/runs/job-words.ts';
import type { Run } from '../../state/runs/run.ts';
import './elapsed.ts';
import './time-left.ts';

/** Parts shared by the dashboard and the run page. */

/** A run's progress: percent, phase, stages and time left. */
export function runProgress(job: Job): TemplateResult {
  const active = isActive(job.state);
  return html`<div class="run-progress">
    <div class="row between baseline">
      <p class="run-phase">${active ? phaseName(job.phase) || job.message : endWords(job)}</p>
      <p class="run-percent">${job.state === 'completed' ? '100' : job.progress.toFixed(1)}<small>%</small></p>
    </div>
    ${progressBar('Progress of the run', job.progress)}
    <div class="row between wrap-row">
      ${stageList(job)}
      ${
        active
          ? html`<p class="run-left muted tabular">
              ${phaseDetail(job)}
              <hone-time-left .end=${job.expected_end}></hone-time-left>
            </p>`
          : nothing
      }
    </div>
  </div>`;
}

/** What a phase is at, and how far; the steps of a training are shown elsewhere. */
function phaseDetail({
  phase,
  phase_progress: share,
  detail,
  expected_end: end,
}: Job): TemplateResult | typeof nothing {
  const percent = share === null || phase === 'train' ? '' : `${Math.floor(100 * share)}%`;
  if (!detail && percent === '') return nothing;
  return html`<span>${detail ? html`<bdi>${detail}</bdi>` : nothing}${detail && percent !== '' ? ' · ' : ''}${percent}${end === null ? nothing : html`<span class="dot"> ·</span>`}</span>`;
}

/** How a run ended; the cause of a failure is shown separately. */
function endWords(job: Job): string {
  if (job.error === null) return job.message;
  const during = phaseName(job.phase);
  return during === ''
    ? stateName(job.state)
    : `${stateName(job.state)}: ${during.charAt(0).toLowerCase()}${during.slice(1)}`;
}

const isWithoutExport = (job: Job | JobDetail) => 'quantizations' in job && job.quantizations.length === 0;

function stageList(job: Job | JobDetail): TemplateResult {
  // Without an export, training is the last stage.
  const own = isWithoutExport(job) ? runStages.slice(0, 2) : runStages;
  const at = own.findIndex(({ phases }) => phases.includes(job.phase ?? ''));
  return html`<ol class="stages" aria-label="Stages">
    ${own.map(({ name }, index) => {
      const state = job.state === 'completed' || index < at ? 'done' : index === at ? 'now' : 'ahead';
      return html`<li data-state=${state} aria-current=${state === 'now' && isActive(job.state) ? 'step' : nothing}>
        ${name}<span class="off-screen">${state === 'done' ? ', done' : ''}</span>
      </li>`;
    })}
  </ol>`;
}

/** The metrics of the latest step. */
export function runFigures(job: Job, run: Run): TemplateResult {
  const last = job.last_metric;
  const smoothed = smoothedEnd(run.series.columns.loss, chartOptions.value.smoothing);
  return html`<dl class="figures-grid">
    ${figure('Step', formatCount(last?.step), last?.total_steps ? `of ${formatCount(last.total_steps)}` : null)}
    ${figure('Epoch', formatNumber(last?.epoch, 3), last?.total_epochs ? `of ${formatNumber(last.total_epochs, 3)}` : null)}
    ${figure('Loss', formatNumber(last?.loss), smoothed === null ? null : `${formatNumber(smoothed)} smoothed`)}
    ${figure('Learning rate', formatNumber(last?.learning_rate, 3))}
    ${figure('Gradient norm', formatNumber(last?.grad_norm, 3))}
    ${figure('Tokens/s', formatCount(last?.tokens_per_second), last?.tokens ? `${formatCount(last.tokens)} total` : null)}
    ${figure('Elapsed', html`<hone-elapsed .job=${job}></hone-elapsed>`)}
    ${figure('Memory', formatMemory(last?.memory_bytes))}
  </dl>`;
}

/** Why a run failed and what to do; nothing if it did not fail. */
export function runError(job: Job | JobDetail): TemplateResult | typeof nothing {
  const { error } = job;
  if (error === null) return nothing;
  const how = [
    error.code === null ? null : `code ${error.code}`,
    error.exit_code === null ? null : `exit code ${error.exit_code}`,
    error.exit_signal === null ? null : `signal ${error.exit_signal}`,
  ]
    .filter(Boolean)
    .join(', ');
  const advice =
    'trained' in job && job.trained ? 'Export again: the trained adapter is kept.' : error.advice;
  return errorPanel({
    title:
      'trained' in job && job.trained
        ? 'Trained; the export failed'
        : job.state === 'interrupted'
          ? 'The run was interrupted'
          : 'The run failed',
    cause: error.message ?? 'The training failed.',
    next:
      error.code === null
        ? advice
        : html`${advice ?? nothing} <a href="/help?code=${error.code}">About this failure</a>`,
    detail: [how, error.evidence].filter(Boolean).join('\n\n') || null,
  });
}

/** What the run consumed. */
export function consumptionNote({ consumption }: JobDetail): TemplateResult | typeof nothing {
  const { gpu_kilowatt_hours, cpu_kilowatt_hours, gpu_peak_bytes, ram_peak_bytes } = consumption;
  const { gpu_mean_utilization_percent: gpu, cpu_mean_percent: cpu } = consumption;
  const power = (kilowattHours: number | null, of: string) =>
    kilowattHours === null ? null : `${of} energy ${formatNumber(kilowattHours * 1000, 3)} Wh`;
  const facts = [
    gpu === null ? null : `GPU ${formatPercent(gpu / 100)}`,
    cpu === null ? null : `CPU ${formatPercent(cpu / 100)}`,
    gpu_peak_bytes === null ? null : `peak GPU memory ${formatMemory(gpu_peak_bytes)}`,
    ram_peak_bytes === null ? null : `peak RAM ${formatMemory(ram_peak_bytes)}`,
    power(gpu_kilowatt_hours, 'GPU'),
    power(cpu_kilowatt_hours, 'CPU'),
  ].filter((fact) => fact !== null);
  return facts.length === 0
    ? nothing
    : html`<p class="note tabular">Usage of the whole machine during training: ${facts.join(' · ')}</p>`;
}
