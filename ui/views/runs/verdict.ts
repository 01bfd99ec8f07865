import { html, nothing, type TemplateResult } from 'lit';
import { isToldInPercent } from '../../../src/contract/evaluations.ts';
import { lossText } from '../../../src/contract/training/loss-text.ts';
import { metricName } from '../../../src/contract/training/metric-names.ts';
import type { JobDetail, Verdict } from '../../api/types.ts';
import { formatDuration, formatNumber } from '../../elements/format.ts';
import { judgementActions, judgementSentence } from './judgement.ts';
import { metricText } from './run-charts.ts';
import { exportBadge, verificationNotice } from './verification.ts';

type Prompt = Verdict['prompts'][number];
type Pair = NonNullable<Verdict['loss']>;

/** Prompts that are shown before the others are asked for. */
const shownPrompts = 3;

/**
 * What a completed run gained: figures, and answers of the base model and of the trained one. The model has links unless
 * it was deleted (`isKept`).
 */
export function verdictView(job: JobDetail, verdict: Verdict, isKept: boolean): TemplateResult {
  const { prompts, reason, judgement } = verdict;
  const more = prompts.slice(shownPrompts);
  return html`<section class="card verdict-card" aria-labelledby="verdict">
    <div class="verdict-head">
      ${exportBadge(job)}
      <h2 id="verdict" class="tabular">${verdictSentence(job, verdict)}</h2>
    </div>
    ${judgementSentence(judgement)}
    ${reason === null || judgement.kind === 'unmeasured' ? nothing : html`<p class="muted wrap">${reason}</p>`}
    ${judgementActions(job, judgement, isKept)}
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
    ${prompts.slice(0, shownPrompts).map(promptView)}
    ${
      more.length === 0
        ? nothing
        : html`<details class="fold">
            <summary>${more.length === 1 ? '1 more prompt' : `${more.length} more prompts`}</summary>
            <div class="verdict-more">${more.map(promptView)}</div>
          </details>`
    }
    ${
      isKept
        ? html`<div class="row wrap-row">
            <a class="button primary" href="/playground/${job.model_id}">Try it</a>
            <a class="button" href="/models/${job.model_id}">Files</a>
          </div>`
        : nothing
    }
  </section>`;
}

/** The figures in a line: "Evaluation loss 2.31 → 0.42 · ROUGE-L 18 → 47 · 20 s". */
function verdictSentence(job: JobDetail, { loss, metric, duration_seconds: seconds }: Verdict): string {
  const final = job.metrics?.final_loss;
  const parts = [
    loss === null ? null : `Evaluation loss ${change(loss, lossText)}`,
    metric === null
      ? null
      : `${metricName(metric.name)} ${change(metric, (value) => shortText(metric.name, value))}`,
    loss === null && metric === null && final != null ? `Final loss ${lossText(final)}` : null,
    seconds === null ? null : formatDuration(seconds),
  ];
  return parts.filter((part) => part !== null).join(' · ');
}

/** A figure before and after; only after if it was not measured before. */
const change = ({ base, tuned }: Pair, text: (value: number) => string) =>
  base === null ? text(tuned) : `${text(base)} → ${text(tuned)}`;

function shortText(name: string, value: number): string {
  if (isToldInPercent(name)) return formatNumber(100 * value, 3);
  return name.includes('/') ? metricText(name, value) : formatNumber(value, 3);
}

/** A prompt with the answers of both models, and the one that is wanted. */
function promptView({ prompt, reference, trained, base, tuned, checkpoints, file }: Prompt): TemplateResult {
  const others = [
    ...checkpoints.map(({ step, text }) => ({ name: `Step ${step}`, text })),
    ...(file === null ? [] : [{ name: `${file.quantization} file`, text: file.text }]),
  ];
  return html`<article class="verdict-prompt">
    <h3 class="asked wrap"><bdi>${prompt}</bdi>${trained ? html` <span class="tag">trained on</span>` : nothing}</h3>
    <div class="sides" data-count=${reference === null ? 2 : 3}>
      ${answerView('Base model', base)} ${answerView('Fine-tuned', tuned, true)}
      ${reference === null ? nothing : answerView('Reference', reference)}
    </div>
    ${
      others.length === 0
        ? nothing
        : html`<details class="fold bare">
            <summary>Checkpoints and file</summary>
            <ol class="stretches">
              ${others.map(
                ({ name, text }) => html`<li>
                  <span class="eyebrow tabular">${name}</span>
                  <span class="wrap sample-text"><bdi>${answerText(text)}</bdi></span>
                </li>`,
              )}
            </ol>
          </details>`
    }
  </article>`;
}

function answerView(title: string, text: string | null, marked = false): TemplateResult {
  return html`<div class="answer" data-marked=${marked ? 'yes' : nothing}>
    <p class="eyebrow">${title}</p>
    <p class="wrap answer-text"><bdi>${text === null ? 'not asked' : answerText(text)}</bdi></p>
  </div>`;
}

const answerText = (text: string) => (text === '' ? '(empty answer)' : text);
