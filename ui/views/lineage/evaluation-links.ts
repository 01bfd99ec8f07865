import { html, nothing, type TemplateResult } from 'lit';
import type { EvaluationSummary } from '../../api/types.ts';
import { formatNumber } from '../../elements/format.ts';
import { nameText } from '../../elements/parts.ts';
import { evaluations } from '../../state/app.ts';
import { evaluationsPath } from '../../state/router.ts';

/** Those that are listed; the others are in the list of evaluations. */
const shown = 5;

/** The newest evaluations of a kind as links; the page that shows them watches `evaluations`. `null` if there is none. */
export function evaluationLinks(isOne: (evaluation: EvaluationSummary) => boolean): TemplateResult | null {
  const found = (evaluations.value.value ?? []).filter(isOne);
  if (found.length === 0) return null;
  const more = found.length - shown;
  return html`${found.slice(0, shown).map(
    ({ evaluation_id: id, dataset, figures, state }, index) => html`${index === 0 ? '' : ', '}<a
        href=${evaluationsPath([id])}
        >${id}</a
      >
      on ${nameText(dataset)} (${figures?.loss == null ? state : `loss ${formatNumber(figures.loss, 3)}`})`,
  )}${more > 0 ? html`, <a href="/models/evaluations">${more} more</a>` : nothing}`;
}
