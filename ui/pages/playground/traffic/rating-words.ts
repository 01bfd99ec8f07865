import { html, nothing, type TemplateResult } from 'lit';
import type { RatingFilter } from '../../../../src/contract/graders/feedback.ts';
import type { KeptSummary } from '../../../api/types.ts';

/** What the answers can be filtered by that people have said of them. */
export const ratingOptions = [
  { value: 'up', name: 'Good' },
  { value: 'down', name: 'Bad' },
  { value: 'corrected', name: 'Corrected' },
  { value: 'none', name: 'Not rated' },
] as const satisfies readonly { readonly value: RatingFilter; readonly name: string }[];

/** What people have said of an answer, as badges. */
export const ratingBadges = ({
  rating,
  corrected,
}: Pick<KeptSummary, 'rating' | 'corrected'>): TemplateResult =>
  html`${
    rating === null
      ? nothing
      : html`<span class="badge" data-state=${rating === 'up' ? 'completed' : 'failed'}>${rating === 'up' ? 'good' : 'bad'}</span>`
  } ${corrected ? html`<span class="badge" data-state="running">corrected</span>` : nothing}`;
