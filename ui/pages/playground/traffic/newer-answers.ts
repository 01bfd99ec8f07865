import { html, nothing, type TemplateResult } from 'lit';

/** Says how many answers were kept since the list was read, and shows them on demand; nothing without one. */
export const newerAnswers = (count: number, show: () => void): TemplateResult => html`<div role="status">
  ${
    count === 0
      ? nothing
      : html`<button type="button" class="small" @click=${show}>
          Show ${count} new ${count === 1 ? 'answer' : 'answers'}
        </button>`
  }
</div>`;
