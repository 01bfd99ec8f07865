import { html, nothing, type TemplateResult } from 'lit';
import { chosenText } from '../../../../src/contract/models/chosen-text.ts';
import type { JobDetail, Verdict } from '../../../api/types.ts';
import { judgementActions, judgementSentence } from './judgement.ts';
import { retentionView } from './retention.ts';
import { verdictPrompt } from './verdict-prompt.ts';
import { verdictSentence } from './verdict-sentence.ts';
import { exportBadge, verificationNotice } from './verification.ts';

/** Prompts that are shown before the others are asked for. */
const shownPrompts = 3;

/**
 * What a completed run gained: figures, and answers of the base model and of the trained one. The model has links unless
 * it was deleted (`isKept`).
 */
export function verdictView(job: JobDetail, verdict: Verdict, isKept: boolean): TemplateResult {
  const { prompts, reason, judgement, retention } = verdict;
  const more = prompts.slice(shownPrompts);
  return html`<section class="card verdict-card" aria-labelledby="verdict">
    <div class="verdict-head">
      ${exportBadge(job)}
      <h2 id="verdict" class="tabular">${verdictSentence(job, verdict)}</h2>
    </div>
    ${judgementSentence(judgement)}
    ${reason === null || judgement.kind === 'unmeasured' ? nothing : html`<p class="muted wrap">${reason}</p>`}
    ${judgementActions(job, judgement, isKept)}
    ${retention === null ? nothing : retentionView(retention, job, isKept)}
    ${job.export?.chosen == null ? nothing : html`<p class="muted wrap">The files have ${chosenText(job.export.chosen)}.</p>`}
    ${
      job.export?.state === 'failed'
        ? html`<p class="wrap">Trained, and the adapter is kept. See below why there is no GGUF file.</p>`
        : job.verification?.passed === false
          ? verificationNotice(job.verification)
          : nothing
    }
    ${
      prompts.some(({ trained }) => trained)
        ? html`<p class="muted wrap">
            These answers are to rows that it was trained on. They show what it has memorized, not how it answers new ones.
          </p>`
        : nothing
    }
    ${prompts.slice(0, shownPrompts).map(verdictPrompt)}
    ${
      more.length === 0
        ? nothing
        : html`<details class="fold">
            <summary>${more.length === 1 ? '1 more prompt' : `${more.length} more prompts`}</summary>
            <div class="verdict-more">${more.map(verdictPrompt)}</div>
          </details>`
    }
    ${
      isKept
        ? html`<div class="row wrap-row">
            <a class="button" href="/playground/${job.model_id}">Try it</a>
            <a class="button" href="/models/${job.model_id}">Files</a>
          </div>`
        : nothing
    }
  </section>`;
}
