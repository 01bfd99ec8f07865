import { html, nothing, type TemplateResult } from 'lit';
import { lossText } from '../../../../src/contract/training/loss-text.ts';
import type { JobDetail, Verdict } from '../../../api/types.ts';
import { formatNumber, formatPercent } from '../../../elements/format.ts';
import { info } from '../../../elements/info/info.ts';

type Retention = NonNullable<Verdict['retention']>;

const percent = (share: number | null | undefined) => (share == null ? '–' : formatPercent(share));

/**
 * How much of the base model was kept. If much was lost, what helps, and both losses at parts of the adapter's strength.
 * Those can be tried if llama.cpp has the adapter and the model was not deleted (`isKept`).
 */
export function retentionView(
  { loss, kl, advice, strengths }: Retention,
  { model_id: modelId, artifacts }: JobDetail,
  isKept: boolean,
): TemplateResult {
  const line = html`<p class="muted tabular">
    General text ${info('General text')}: loss ${lossText(loss.base)} → ${lossText(loss.tuned)}${
      kl === null ? nothing : html` · KL divergence ${formatNumber(kl, 2)}`
    }
  </p>`;
  if (advice === null) return line;
  const canTry = isKept && artifacts.some(({ kind }) => kind === 'adapter_gguf');
  const hasRows = strengths.some((each) => each.loss !== null);
  const onText = {
    label: 'On general text',
    colour: '--line-6',
    values: strengths.map((each) => each.general_loss),
  };
  const onRows = { label: 'On your rows', colour: '--line-1', values: strengths.map((each) => each.loss) };
  return html`${line}
    <p class="note wrap"><bdi>${advice}</bdi></p>
    <details class="fold">
      <summary>Losses by strength of the adapter</summary>
      <hone-chart
        heading="Loss by strength of the adapter"
        measures="Loss"
        .xs=${[
          {
            axis: { title: 'Strength', column: 'strength', format: percent },
            values: strengths.map((each) => each.strength),
          },
        ]}
        .lines=${hasRows ? [onRows, onText] : [onText]}
        .format=${formatNumber}
      ></hone-chart>
      ${
        canTry
          ? html`<div class="row wrap-row">${strengths
              .filter(({ strength }) => strength > 0 && strength < 1)
              .map(
                ({ strength }) =>
                  html`<a class="button" href="/playground/${modelId}?strength=${strength}">
                    Try at ${formatPercent(strength)}
                  </a>`,
              )}</div>`
          : nothing
      }
    </details>`;
}
