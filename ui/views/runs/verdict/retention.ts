import { html, nothing, type TemplateResult } from 'lit';
import { lossText } from '../../../../src/contract/training/loss-text.ts';
import type { JobDetail, Verdict } from '../../../api/types.ts';
import { type Axis, axes } from '../../../charts/axis.ts';
import { formatNumber, formatPercent } from '../../../elements/format.ts';
import { info } from '../../../elements/info/info.ts';
import { type Chosen, takeAdapter } from './take-adapter.ts';

type Retention = NonNullable<Verdict['retention']>;
type Losses = Pick<Retention['checkpoints'][number], 'general_loss' | 'loss'>;

const percent = (share: number | null | undefined) => (share == null ? '–' : formatPercent(share));
const strengthAxis: Axis = { title: 'Strength', column: 'strength', format: percent };
const trained: Chosen = { strength: 1, checkpoint: null };
/** The most that the playground multiplies an adapter by. */
const mostScale = 2;

/**
 * How much of the base model was kept. If much was lost, what helps, and both losses at parts of the adapter's strength
 * and at checkpoints. As long as the model was not deleted (`isKept`), its files can be made of one of them; it can be
 * tried if llama.cpp has the adapter.
 */
export function retentionView(
  { loss, kl, advice, strengths, checkpoints }: Retention,
  job: JobDetail,
  isKept: boolean,
): TemplateResult {
  const line = html`<p class="muted tabular">
    General text ${info('General text')}: loss ${lossText(loss.base)} → ${lossText(loss.tuned)}${
      kl === null ? nothing : html` · KL divergence ${formatNumber(kl, 2)}`
    }
  </p>`;
  if (advice === null) return line;
  const chosen = job.export?.chosen ?? trained;
  const canTry = job.artifacts.some(({ kind }) => kind === 'adapter_gguf');
  const playground = `/playground/${job.model_id}`;
  const ofStrength = ({ strength, ...losses }: Retention['strengths'][number]) => {
    // The playground's strength is that of the files.
    const scale = strength / chosen.strength;
    const name = formatPercent(strength);
    const tried = canTry && chosen.checkpoint === null && scale !== 1 && scale <= mostScale;
    return pointView({
      name,
      losses,
      job,
      chosen,
      choice: { strength, checkpoint: null },
      use: 'Use this strength',
      tried: tried ? { href: `${playground}?strength=${scale}`, text: `Try at ${name}` } : null,
    });
  };
  const ofCheckpoint = ({ step, ...losses }: Retention['checkpoints'][number]) =>
    pointView({
      name: `Step ${step}`,
      losses,
      job,
      chosen,
      choice: { strength: 1, checkpoint: step },
      use: 'Use this checkpoint',
      tried: canTry ? { href: `${playground}?weights=step:${step}`, text: `Try step ${step}` } : null,
    });
  return html`${line}
    <p class="note wrap"><bdi>${advice}</bdi></p>
    <details class="fold">
      <summary>Losses by strength of the adapter${checkpoints.length > 0 ? ' and by checkpoint' : ''}</summary>
      ${lossesChart(
        'Loss by strength of the adapter',
        strengthAxis,
        strengths.map(({ strength }) => strength),
        strengths,
      )}
      ${isKept ? html`<ul class="list">${strengths.filter(({ strength }) => strength > 0).map(ofStrength)}</ul>` : nothing}
      ${
        checkpoints.length === 0
          ? nothing
          : lossesChart(
              'Loss by checkpoint',
              axes.step,
              checkpoints.map(({ step }) => step),
              checkpoints,
            )
      }
      ${isKept ? html`<ul class="list">${checkpoints.map(ofCheckpoint)}</ul>` : nothing}
    </details>`;
}

function lossesChart(
  heading: string,
  axis: Axis,
  values: readonly number[],
  losses: readonly Losses[],
): TemplateResult {
  const onText = {
    label: 'On general text',
    colour: '--line-6',
    sparse: true,
    values: losses.map((each) => each.general_loss),
  };
  const onRows = {
    label: 'On your rows',
    colour: '--line-1',
    sparse: true,
    values: losses.map((each) => each.loss),
  };
  return html`<hone-chart
    heading=${heading}
    measures="Loss"
    .xs=${[{ axis, values }]}
    .lines=${losses.some((each) => each.loss !== null) ? [onRows, onText] : [onText]}
    .format=${formatNumber}
  ></hone-chart>`;
}

/** A strength or a checkpoint with its losses, a link to try it, and a button that makes the model's files of it. */
function pointView(point: {
  readonly name: string;
  readonly losses: Losses;
  readonly job: JobDetail;
  /** What the files are of. */
  readonly chosen: Chosen;
  readonly choice: Chosen;
  readonly use: string;
  readonly tried: { readonly href: string; readonly text: string } | null;
}): TemplateResult {
  const { name, losses, job, chosen, choice, use, tried } = point;
  const isUsed = choice.strength === chosen.strength && choice.checkpoint === chosen.checkpoint;
  const onRows = losses.loss === null ? '' : `${lossText(losses.loss)} on your rows, `;
  return html`<li class="row wrap-row between">
    <span class="list-main">
      <span>${name}</span><small class="muted tabular">${onRows}${lossText(losses.general_loss)} on general text</small>
    </span>
    <span class="row">
      ${tried === null ? nothing : html`<a class="button small" href=${tried.href}>${tried.text}</a>`}
      ${
        isUsed
          ? html`<span class="muted">In use</span>`
          : html`<button type="button" class="small" @click=${(event: Event) => void takeAdapter(event, job, choice)}>
              ${use}<span class="off-screen"> ${name}</span>
            </button>`
      }
    </span>
  </li>`;
}
