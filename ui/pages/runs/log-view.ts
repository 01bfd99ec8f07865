import { html, type TemplateResult } from 'lit';
import { empty } from '../../elements/parts.ts';

/** The end of a run's log, as `withoutProgressBars` leaves it. */
export function logView(log: string | null): TemplateResult {
  return html`<section class="card" aria-label="Log">
    ${
      log
        ? html`<div class="row end"><hone-copy .text=${log} label="Copy log"></hone-copy></div>
            <pre class="log log-view" tabindex="0" role="region" aria-label="Trainer log">${log}</pre>`
        : empty('The log is empty', 'Trainer output appears here, without progress bars.')
    }
  </section>`;
}
