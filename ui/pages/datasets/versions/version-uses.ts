import { html, type TemplateResult } from 'lit';
import type { Answer } from '../../../api/routes.ts';
import { formatCount } from '../../../elements/format.ts';
import { nameText } from '../../../elements/parts.ts';
import { evaluationsPath } from '../../../state/router.ts';

type Use = Answer<'GET /api/datasets/{name}/versions'>['versions'][number]['used_by'][number];

const mostUses = 5;

/** What used a version of a dataset, as links. */
export function versionUses(uses: readonly Use[]): TemplateResult | string {
  if (uses.length === 0) return '–';
  const more = uses.length - mostUses;
  return html`${uses
    .slice(0, mostUses)
    .map(
      ({ kind, id, name }, place) =>
        html`${place === 0 ? '' : ', '}<a href=${kind === 'run' ? `/training/${id}` : evaluationsPath([id])}>${nameText(name)}</a>`,
    )}${more > 0 ? ` and ${formatCount(more)} more` : ''}`;
}
