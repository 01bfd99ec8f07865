import { html, type TemplateResult } from 'lit';
import type { KeptFacets } from '../../../api/types.ts';
import { facetOptions, filterSelect } from '../../../views/lists/list-tools.ts';
import type { AnswerFilter } from './answer-search.ts';
import { ratingOptions } from './rating-words.ts';

/** The search and the filters of the kept answers. */
export function answerTools(options: {
  readonly filter: AnswerFilter;
  /** The search as it is typed. */
  readonly typed: string;
  readonly models: KeptFacets['models'] | undefined;
  type(text: string): void;
  choose(name: 'model' | 'rating', value: string): void;
  refresh(): void;
}): TemplateResult {
  const { filter, typed, models, type, choose, refresh } = options;
  return html`<div class="row wrap-row list-tools">
    <input
      type="search"
      class="search"
      placeholder="Search answers"
      aria-label="Search answers"
      maxlength="200"
      .value=${typed}
      @input=${(event: Event) => type((event.target as HTMLInputElement).value)}
    />
    ${filterSelect('model', facetOptions(models), filter.model, (value) => choose('model', value))}
    ${filterSelect('rating', ratingOptions, filter.rating, (value) => choose('rating', value))}
    <button type="button" class="small" @click=${refresh}>Refresh</button>
  </div>`;
}
