import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { JobDetail } from '../../api/types.ts';
import { formatAgo } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { modelName, nameText, stateBadge } from '../../elements/parts.ts';
import { isKept, models } from '../../state/app.ts';
import { taskName } from '../../state/choice-words.ts';
import { Watch } from '../../state/store.ts';
import { judgementSentence } from '../../views/runs/verdict/judgement.ts';
import { verdictPrompt } from '../../views/runs/verdict/verdict-prompt.ts';
import { verdictSentence } from '../../views/runs/verdict/verdict-sentence.ts';

/** What a completed run gained, and one answer of the base model and of the trained one; nothing without a verdict. */
export function lastResult(job: JobDetail): TemplateResult | typeof nothing {
  const { verdict } = job;
  if (verdict === null) return nothing;
  // Answers to new rows tell more than those to rows that were learned.
  const prompt = verdict.prompts.find(({ trained }) => !trained) ?? verdict.prompts[0];
  return html`<section class="card verdict-card" aria-labelledby="last-result">
    <header class="card-head">
      <div>
        <p class="eyebrow">Last result · ${formatAgo(job.ended_at ?? job.created_at)}</p>
        <h2 id="last-result"><a href="/training/${job.job_id}">${nameText(job.display_name)}</a></h2>
        <p class="muted">${modelName(job.model_name)} · ${taskName(job.task)} on ${nameText(job.dataset)}</p>
      </div>
      ${stateBadge(job.state)}
    </header>
    <p class="tabular"><b>${verdictSentence(job, verdict)}</b></p>
    ${judgementSentence(verdict.judgement)}
    ${prompt === undefined ? nothing : verdictPrompt(prompt)}
    <footer class="row wrap-row">
      ${isKept(job.model_id) ? html`<a class="button primary" href="/playground/${job.model_id}">Try the model</a>` : nothing}
      <a class="button" href="/training/${job.job_id}">Open the run</a>
    </footer>
  </section>`;
}

/** The result of a run that is not the current one. */
@customElement('hone-last-result')
export class LastResult extends LightElement {
  @property() jobId = '';
  @state() private _job: JobDetail | null = null;

  constructor() {
    super();
    new Watch(this, models);
  }

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (!changed.has('jobId')) return;
    const { jobId } = this;
    service.job(jobId).then(
      (job) => {
        if (jobId === this.jobId) this._job = job;
      },
      // The page says elsewhere that the service is not reachable.
      () => undefined,
    );
  }

  protected override render(): TemplateResult | typeof nothing {
    return this._job === null ? nothing : lastResult(this._job);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-last-result': LastResult;
  }
}
