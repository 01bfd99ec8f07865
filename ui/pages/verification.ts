import { html, nothing, type TemplateResult } from 'lit';
import { figure } from '../elements/parts.ts';
import { formatNumber } from '../format.ts';
import { metricName, metricText } from './run-charts.ts';

type Found = Readonly<Record<string, unknown>>;

const names: Readonly<Record<string, string>> = {
  agreement: 'Same next token as the adapter',
  tokens_equal: 'Texts read as the same tokens',
  max_logprob_difference: 'Largest log p difference',
  mean_kl: 'Mean KL divergence',
  difference_from_base: 'Difference from the base',
};
const parts = ['agreement', 'tokens_equal'];

/** Whether the exported file is the model that was trained. */
export function verificationBadge(verification: Found | null): TemplateResult | typeof nothing {
  const passed = verification?.passed;
  if (typeof passed !== 'boolean') return nothing;
  return html`<span class="badge" data-state=${passed ? 'completed' : 'failed'}>
    ${passed ? 'Verified' : 'Not verified'}
  </span>`;
}

/** What the verification after the export found, in a sentence and its figures. */
export function verificationView(verification: Found | null): TemplateResult | typeof nothing {
  if (verification === null) return nothing;
  const { passed, reason } = verification;
  const figures = Object.entries(verification).filter(([, value]) => typeof value === 'number');
  return html`
    <div class="verdict">
      ${verificationBadge(verification)}
      <p class="wrap">
        ${
          passed === true
            ? 'The GGUF file answers held-out rows as the trained adapter does, and not as the base model did.'
            : passed === false
              ? html`<bdi>${typeof reason === 'string' && reason !== '' ? reason : 'The GGUF file does not answer as the trained adapter does.'}</bdi>`
              : nothing
        }
      </p>
    </div>
    <dl class="figures-grid fluid">
      ${figures.map(([key, value]) =>
        figure(
          names[key] ?? metricName(key),
          parts.includes(key)
            ? `${formatNumber(100 * (value as number), 4)} %`
            : metricText(key, value as number),
        ),
      )}
    </dl>
  `;
}
