import { html, nothing, type TemplateResult } from 'lit';
import { readJson } from '../../elements/json-view.ts';
import type { Call } from '../../state/playground/exchange.ts';
import './answer-text.ts';

/** A call of a tool: its function and arguments. @param busy whether it is being written. */
export function callView({ name, arguments: given }: Call, busy: boolean): TemplateResult {
  return html`<div class="call" role="group" aria-label="Call of ${name}">
    <p class="wrap"><span class="eyebrow">Call</span> <code><bdi>${name}</bdi></code></p>
    ${
      busy || readJson(given) === undefined
        ? html`<p class="wrap answer-text json-view" dir="ltr">${given}${busy ? html`<i class="caret" aria-hidden="true"></i>` : nothing}</p>`
        : html`<hone-answer-text .text=${given}></hone-answer-text>`
    }
  </div>`;
}
