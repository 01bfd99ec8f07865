import { html, nothing, type TemplateResult } from 'lit';

const sections = {
  Training: [
    { name: 'Runs', path: '/training/runs' },
    { name: 'Sweeps', path: '/training/sweeps' },
    { name: 'Datasets', path: '/datasets' },
  ],
  Models: [
    { name: 'Trained', path: '/models' },
    { name: 'Base models', path: '/models/base' },
    { name: 'Aliases', path: '/models/aliases' },
    { name: 'Evaluations', path: '/models/evaluations' },
    { name: 'Graders', path: '/models/graders' },
  ],
} as const;

type Section = keyof typeof sections;

/**
 * Navigation between the pages of a section.
 * @param here the page's entry; `undefined` if it has none.
 * @param isBelow whether the page is not that of the entry, but one that it leads to.
 */
export function sectionTabs<S extends Section>(
  section: S,
  here?: (typeof sections)[S][number]['path'],
  isBelow = false,
): TemplateResult {
  return html`<nav class="sub-tabs" aria-label=${section}>
    ${sections[section].map(
      ({ name, path }) =>
        html`<a href=${path} aria-current=${path === here ? (isBelow ? 'true' : 'page') : nothing}>${name}</a>`,
    )}
  </nav>`;
}
