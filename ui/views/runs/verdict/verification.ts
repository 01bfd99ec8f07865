import { html, nothing, type TemplateResult } from 'lit';
import { metricName } from '../../../../src/contract/training/metric-names.ts';
import type { Job, Lineage } from '../../../api/types.ts';
import { formatPercent } from '../../../elements/format.ts';
import { figure } from '../../../elements/parts.ts';
import { metricText } from '../run-charts.ts';

type Found = NonNullable<Lineage['verification']>;

/** The names of its figures. */
export const names: Readonly<Record<string, string>> = {
  agreement: 'Next-token agreement with the adapter',
  tokens_equal: 'Texts tokenized identically',
  max_logprob_difference: 'Max log-probability difference',
  mean_kl: 'Mean KL divergence',
  loss: 'Loss of the file',
  reference_loss: 'Loss of the trained model',
  loss_increase: 'Cost of the file’s type (loss)',
  difference_from_base: 'Difference from the base model',
};
const parts = ['agreement', 'tokens_equal', 'loss_increase'];

/** Whether the exported files match the trained model, or that the export failed. */
export function exportBadge({
  export: made,
  verification,
}: Pick<Job, 'export' | 'verification'>): TemplateResult | typeof nothing {
  return made?.state === 'failed'
    ? html`<span class="badge" data-state="failed">Export failed</span>`
    : verificationBadge(verification);
}

/** Whether the exported file matches the trained model and its tokenization; it says nothing about the answers. */
function verificationBadge(verification: Found | null): TemplateResult | typeof nothing {
  const passed = verification?.passed;
  if (typeof passed !== 'boolean') return nothing;
  const [state, words] = passed
    ? ['completed', 'File verified']
    : verification?.tokens_differ
      ? ['stopped', 'Tokenization differs']
      : ['failed', 'File not verified'];
  const title =
    'The exported file has the trained weights. How good its answers are is measured on held-out rows.';
  return html`<span class="badge" data-state=${state} title=${passed ? title : nothing}>${words}</span>`;
}

/** The result of the verification after export, as a sentence with figures. */
export function verificationView(verification: Found | null): TemplateResult | typeof nothing {
  if (verification === null) return nothing;
  return html`
    <div class="verdict">${verificationBadge(verification)} ${sentence(verification)}</div>
    ${example(verification)} ${verificationFigures(verification)}
  `;
}

/** The result of the verification as a sentence, with an example of what differs. */
export function verificationNotice(verification: Found): TemplateResult {
  return html`${sentence(verification)} ${example(verification)}`;
}

/** What is proven, and what each type costs. Runs of earlier releases have no costs. */
function costs(files: Found['files']): string {
  const told = Object.entries((files ?? {}) as Record<string, { loss_increase?: number | null }>)
    .filter(([, { loss_increase: cost }]) => typeof cost === 'number')
    .map(([type, { loss_increase: cost }]) => `${type} ${formatPercent(cost, 2)}`);
  const proven = 'The GGUF file has the trained weights, tokenizes texts as in training, and answers.';
  return told.length === 0 ? proven : `${proven} Loss compared with the trained model: ${told.join(', ')}.`;
}

function sentence({ passed, reason, tokens_differ: differs, files }: Found): TemplateResult {
  return html`<p class="wrap">
    ${
      passed === true
        ? costs(files)
        : passed === false
          ? differs
            ? 'The GGUF file has the trained weights but tokenizes some texts differently than training did, so its answers may be worse. The adapter is not affected.'
            : html`<bdi>${reason || 'The GGUF file does not match the trained adapter.'}</bdi>`
          : nothing
    }
  </p>`;
}

/** The figures of the verification. */
export function verificationFigures(verification: Found | null): TemplateResult | typeof nothing {
  if (verification === null) return nothing;
  const figures = Object.entries(verification).filter(([, value]) => typeof value === 'number');
  return html`<dl class="figures-grid fluid">
      ${figures.map(([key, value]) =>
        figure(
          names[key] ?? metricName(key),
          parts.includes(key) ? formatPercent(value as number) : metricText(key, value as number),
        ),
      )}
    </dl>`;
}

/** A text that is tokenized differently, with both token sequences. */
function example({ tokens_differ: found }: Found): TemplateResult | typeof nothing {
  if (!found) return nothing;
  const from = found.from_token === 0 ? '' : `, from token ${found.from_token}`;
  return html`<details class="fold bare">
    <summary>A text that is tokenized differently</summary>
    <p class="wrap"><code class="wrap"><bdi>${found.text}</bdi></code></p>
    <dl>
      <dt class="eyebrow">Tokens in training${from}</dt>
      <dd class="wrap tabular">${found.trained.join(' ')}</dd>
      <dt class="eyebrow">Tokens in the GGUF file${from}</dt>
      <dd class="wrap tabular">${found.gguf.join(' ')}</dd>
    </dl>
  </details>`;
}
