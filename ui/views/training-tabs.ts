import { html, nothing, type TemplateResult } from 'lit';

const entries = [
  { name: 'New training', path: '/training' },
  { name: 'Runs', path: '/training/runs' },
  { name: 'Sweeps', path: '/training/sweeps' },
  { name: 'Evaluations', path: '/training/evaluations' },
  { name: 'Compare', path: '/training/compare' },
  { name: 'Datasets', path: '/datasets' },
] as const;

/** Navigation between the training pages. @param isBelow whether the page is not that of the entry, but one that it leads to. */
export function trainingTabs(here: (typeof entries)[number]['path'], isBelow = false): TemplateResult {
  return html`<nav class="sub-tabs" aria-label="Training">
    ${entries.map(
      ({ name, path }) =>
        html`<a href=${path} aria-current=${path === here ? (isBelow ? 'true' : 'page') : nothing}>${name}</a>`,
    )}
  </nav>`;
}
