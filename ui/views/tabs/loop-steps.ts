import { html, type TemplateResult } from 'lit';
import { trafficPath } from '../../state/router.ts';

/** The places that lead from use to a better model, in their order. */
const steps = {
  Traffic: { path: trafficPath(), words: 'Keep, rate and correct answers' },
  Rows: { path: '/datasets', words: 'Make rows of them' },
  Run: { path: '/training', words: 'Train a model on the rows' },
  Compare: { path: '/training/compare', words: 'Compare it with the one before' },
  Live: { path: '/models/aliases', words: 'Let an alias move to it' },
};

/** Leads from use to a better model. @param current where the user is. */
export function loopSteps(current: keyof typeof steps): TemplateResult {
  return html`<nav class="loop-steps" aria-label="From use to a better model">
    <ol>
      ${Object.entries(steps).map(
        ([name, { path, words }]) =>
          html`<li><a href=${path} aria-current=${name === current ? 'step' : 'false'} title=${words}>${name}</a></li>`,
      )}
    </ol>
  </nav>`;
}
