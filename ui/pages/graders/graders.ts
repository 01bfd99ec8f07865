import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { graderForms } from '../../../src/contract/graders/grader-fields.ts';
import { service } from '../../api/service.ts';
import type { Grader } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { formatMoment } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { graders, toasts } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import './grader-form.ts';
import './grader-test.ts';

/** The graders, the form for a new one, and their trial on rows. */
@customElement('hone-graders')
export class Graders extends LightElement {
  private readonly _removal = new Action(this);

  constructor() {
    super();
    new Reread(this, graders);
  }

  private async _remove({ name, grader }: Grader): Promise<void> {
    await this._removal.run(() => service.removeGrader(name));
    const { error } = this._removal;
    if (error !== null) toasts.show(error.message, 'error');
    else
      toasts.show(
        `${name} was deleted`,
        'info',
        () => void service.addGrader(grader).then(() => graders.refresh()),
      );
    void graders.refresh();
  }

  protected override render(): TemplateResult {
    return html`<div class="page">
      ${sectionTabs('Models', '/models/graders')}
      <header class="page-head">
        <div>
          <h1>Graders</h1>
          <p class="muted">Say what a good answer is, and score evaluations with it.</p>
        </div>
      </header>
      <section class="card" aria-labelledby="new-grader">
        <h2 id="new-grader">New grader</h2>
        <hone-grader-form></hone-grader-form>
      </section>
      <section class="card" aria-label="Graders">${this._list()}</section>
      ${
        (graders.value.value ?? []).length === 0
          ? nothing
          : html`<section class="card" aria-labelledby="grader-test">
              <h2 id="grader-test">Test</h2>
              <hone-grader-test></hone-grader-test>
            </section>`
      }
    </div>`;
  }

  private _list(): TemplateResult {
    const { value, error } = graders.value;
    if (value === null)
      return error === null ? skeleton(3) : serviceErrorPanel('Could not load the graders', error);
    if (value.length === 0) return empty('No graders yet', 'Choose a type above.');
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of graders">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Grader</th>
            <th scope="col">Type</th>
            <th scope="col" class="right spare">Changed</th>
            <th scope="col"><span class="off-screen">Delete</span></th>
          </tr>
        </thead>
        <tbody>
          ${keyedRow(
            value,
            ({ name }) => name,
            (one) => html`<tr>
              <th scope="row">${nameText(one.name)}</th>
              <td>${graderForms[one.grader.type].label}</td>
              <td class="right spare">${formatMoment(one.updated_at)}</td>
              <td>
                <button
                  type="button"
                  aria-label="Delete ${one.name}"
                  ?disabled=${this._removal.busy}
                  @click=${() => this._remove(one)}
                >
                  Delete
                </button>
              </td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-graders': Graders;
  }
}
