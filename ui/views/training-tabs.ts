import { html, nothing, type TemplateResult } from 'lit';

const entries = [
  { name: 'New training', path: '/training' },
  { name: 'Runs', path: '/training/runs' },
  { name: 'Sweeps', path: '/training/sweeps' },
  { name: 'Evaluations', path: '/training/evaluations' },
  { name: 'Compare', path: '/training/compare' },
  { name: 'Datasets', path: '/datasets' },
] as const;

/** Navigation between the training pages. */
export function trainingTabs(here: (typeof entries)[number]['path'] | ''): TemplateResult {
  return html`<nav class="sub-tabs" aria-label="Training">
    ${entries.map(
      ({ name, path }) => html`<a href=${path} aria-current=${path === here ? 'page' : nothing}>${name}</a>`,
    )}
  </nav>`;
}
