import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import { formatMoment } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText, serviceErrorPanel } from '../../elements/parts.ts';
import { asServiceError } from '../../state/remote.ts';
import { evalPath } from '../../state/router.ts';

type Evals = Awaited<ReturnType<typeof service.evals>>;

/** A moment that OpenAI's API tells in Unix seconds. */
export const moment = (seconds: number): string => formatMoment(new Date(1000 * seconds).toISOString());

/** The evals that scripts for OpenAI's API made, or that were moved from there; nothing if there are none. */
@customElement('hone-eval-list')
export class EvalList extends LightElement {
  @state() private _evals: Evals | ServiceError | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    service.evals().then(
      (found) => {
        this._evals = found;
      },
      (error: unknown) => {
        this._evals = asServiceError(error);
      },
    );
  }

  protected override render(): TemplateResult | typeof nothing {
    const found = this._evals;
    if (found === null) return nothing;
    if ('status' in found) return serviceErrorPanel('Could not load the evals', found);
    if (found.data.length === 0) return nothing;
    return html`<section class="card" aria-labelledby="evals">
      <h2 id="evals">Evals of OpenAI’s API</h2>
      <p class="muted">
        Made by scripts through <code>/v1/evals</code>, or moved from OpenAI.
        ${found.has_more ? 'These are the newest 100.' : ''}
      </p>
      <div class="scroll-box" tabindex="0" role="region" aria-label="Table of evals">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Eval</th>
              <th scope="col" class="spare-narrow">Criteria</th>
              <th scope="col" class="right spare">Created</th>
            </tr>
          </thead>
          <tbody>
            ${found.data.map(
              ({ id, name, testing_criteria: criteria, created_at: created }) => html`<tr>
                <th scope="row"><a href=${evalPath(id)}>${nameText(name || id)}</a></th>
                <td class="spare-narrow wrap">${criteria.map((one) => one.name).join(', ')}</td>
                <td class="right spare">${moment(created)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-eval-list': EvalList;
  }
}
