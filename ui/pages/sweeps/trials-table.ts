import { html, nothing, type TemplateResult } from 'lit';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { Sweep, Trial } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { formatCount, formatNumber } from '../../elements/format.ts';
import { nameText } from '../../elements/parts.ts';
import { settingLabel } from '../../settings/setting-values.ts';
import { bestFirst, trialBadge } from '../../views/sweep-words.ts';
import { valueText } from './axes.ts';

interface TableActions {
  /** The highlighted trial. */
  readonly shown: number | null;
  show(trial: number | null): void;
  /** Goes on with a trial that was stopped; `null` while that is not possible. */
  readonly resume: ((jobId: string) => void) | null;
}

/** The trials of a sweep, best first. */
export function trialsTable(sweep: Sweep, actions: TableActions): TemplateResult {
  const fields = Object.keys(sweep.space);
  return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of trials">
    <table class="rows trials">
      <thead>
        <tr>
          <th scope="col">Trial</th>
          <th scope="col">State</th>
          <th scope="col" class="right">${metricName(sweep.metric)}</th>
          ${fields.map((name) => html`<th scope="col" class="right">${settingLabel(name)}</th>`)}
          <th scope="col" class="right">Steps</th>
          ${actions.resume === null ? nothing : html`<th scope="col"><span class="off-screen">Resume</span></th>`}
        </tr>
      </thead>
      <tbody>
        ${keyedRow(
          bestFirst(sweep),
          ({ number }) => number,
          (trial) => row(trial, sweep, fields, actions),
        )}
      </tbody>
    </table>
  </div>`;
}

function row(trial: Trial, sweep: Sweep, fields: readonly string[], actions: TableActions): TemplateResult {
  const { number, job_id: jobId, display_name: runName, state, value, last_value: last, parameters } = trial;
  const name = html`Trial ${number}`;
  const show = () => actions.show(number);
  const hide = () => actions.show(null);
  return html`<tr
    class=${number === actions.shown ? 'differs' : ''}
    @pointerenter=${show}
    @pointerleave=${hide}
    @focusin=${show}
    @focusout=${hide}
  >
    <th scope="row" class="two-lines">
      ${jobId === null ? name : html`<a href="/training/${jobId}">${name}</a>`}
      ${runName === null ? nothing : html`<small class="muted">${nameText(runName)}</small>`}
    </th>
    <td>${trialBadge(state)}${sweep.best?.number === number ? html` <span class="good">best</span>` : nothing}</td>
    <td class="right">
      ${value === null && last !== null ? html`<span class="muted" title="Its latest evaluation">${formatNumber(last)}</span>` : formatNumber(value)}
    </td>
    ${fields.map((field) => html`<td class="right">${valueText(parameters[field])}</td>`)}
    <td class="right">
      ${formatCount(trial.step)}${trial.total_steps === null ? nothing : html` <span class="muted">of ${formatCount(trial.total_steps)}</span>`}
    </td>
    ${actions.resume === null ? nothing : html`<td class="right">${resumeButton(trial, actions.resume)}</td>`}
  </tr>`;
}

/** The states of a trial that can go on from a checkpoint. */
const resumable: readonly Trial['state'][] = ['culled', 'stopped', 'interrupted'];

function resumeButton({ job_id: jobId, state, number, step }: Trial, resume: (jobId: string) => void) {
  if (jobId === null || step === 0 || !resumable.includes(state)) return nothing;
  return html`<button type="button" class="small" @click=${() => resume(jobId)}>
    Resume<span class="off-screen"> trial ${number}</span>
  </button>`;
}
