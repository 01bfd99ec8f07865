import { html, nothing, type TemplateResult } from 'lit';
import type { Job } from '../../api/types.ts';
import { modelName, nameText } from '../../elements/parts.ts';
import { isActive } from '../../state/runs/job-words.ts';

const shownRuns = 3;
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { weekday: 'short', hour: '2-digit', minute: '2-digit' });

/** A time of day, with its weekday where that is not today. */
function timeText(iso: string): string {
  const date = new Date(iso);
  return (date.toDateString() === new Date().toDateString() ? clock : day).format(date);
}

/**
 * The runs that wait, and when the first of them is expected to start: when a running one ends.
 * @param current the run that is shown as it goes: its expected end is the latest.
 */
export function nextRuns(jobs: readonly Job[], current: Job | null): TemplateResult | typeof nothing {
  const waiting = jobs
    .filter(({ state, job_id }) => state === 'queued' && job_id !== current?.job_id)
    .reverse();
  if (waiting.length === 0) return nothing;
  const ends = jobs
    .map((job) => (job.job_id === current?.job_id ? current : job))
    .filter(({ state }) => isActive(state) && state !== 'queued')
    .map(({ expected_end: end }) => end);
  // Without the end of one that is going, the next could start at any time.
  const start = ends.includes(null) ? undefined : ends.filter((end) => end !== null).sort()[0];
  return html`<section class="card" aria-labelledby="next">
    <h2 id="next">Next</h2>
    <ul class="list">
      ${waiting.slice(0, shownRuns).map(
        (job, index) => html`<li>
          <a class="list-link" href="/training/${job.job_id}">
            <span class="list-main">${nameText(job.display_name)}<small class="muted">${modelName(job.model_name)}</small></span>
            <span class="list-figures tabular">
              ${index > 0 ? `after ${waiting[index - 1]?.job_id}` : start === undefined ? 'after the running one' : `starts at about ${timeText(start)}`}
            </span>
          </a>
        </li>`,
      )}
    </ul>
    ${waiting.length > shownRuns ? html`<p class="muted">${(waiting.length - shownRuns).toLocaleString('en')} more wait.</p>` : nothing}
  </section>`;
}
