import { html, nothing, type TemplateResult } from 'lit';

/** What can be done with the answers that are selected; nothing without one. */
export function selectedAnswers(options: {
  readonly ids: readonly string[];
  makeRows(): void;
  remove(ids: readonly string[]): void;
  clear(): void;
}): TemplateResult | typeof nothing {
  const { ids, makeRows, remove, clear } = options;
  if (ids.length === 0) return nothing;
  return html`<div class="row wrap-row bulk" role="group" aria-label="Selected answers">
    <span class="tabular" role="status">${ids.length} selected</span>
    <button type="button" class="small" @click=${makeRows}>Make rows…</button>
    <button type="button" class="small danger" @click=${() => remove(ids)}>Delete…</button>
    <button type="button" class="small" @click=${clear}>Clear selection</button>
  </div>`;
}
