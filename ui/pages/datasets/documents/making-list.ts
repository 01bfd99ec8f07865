import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { Making } from '../../../api/types.ts';
import { keyedRow } from '../../../elements/child.ts';
import { formatCount } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { figure, nameText, progressBar, serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { datasets } from '../../../state/app.ts';
import { Reread } from '../../../state/remote.ts';
import { datasetPath } from '../../../state/router.ts';
import { isUnderway, makings } from './known.ts';
import { type Kind, kinds } from './making-draft.ts';

/** How often progress is read, and whether there is some. */
const refreshMs = 1_000;

const uselessWords = {
  refused: 'refused',
  cut_off: 'cut off',
  malformed: 'of another shape than was asked for',
  rejected: 'in vain',
} as const;
const dropWords = {
  quotation: 'with a quotation that is not in the passage',
  near_duplicate: 'nearly the same as another',
  ungraded: 'not graded',
  below_bar: 'below the lowest score',
  beyond_limit: 'more than were wanted',
} as const;

/** Counts that are not 0, with their words. */
const counted = <K extends string>(counts: Readonly<Record<K, number>>, words: Readonly<Record<K, string>>) =>
  (Object.keys(words) as K[])
    .filter((name) => counts[name] > 0)
    .map((name) => `${formatCount(counts[name])} ${words[name]}`)
    .join(', ');

/** The datasets that are or were made, with their progress. */
@customElement('hone-making-list')
export class MakingList extends LightElement {
  private readonly _action = new Action(this);
  private _timer: ReturnType<typeof setInterval> | null = null;

  constructor() {
    super();
    new Reread(this, makings);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._timer = setInterval(() => void this._look(), refreshMs);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearInterval(this._timer);
  }

  private async _look(): Promise<void> {
    const { value, loading } = makings.value;
    if (loading || document.visibilityState !== 'visible' || !value?.some(isUnderway)) return;
    await makings.refresh();
    if (!makings.value.value?.some(isUnderway)) void datasets.refresh();
  }

  private async _do(work: () => Promise<unknown>): Promise<void> {
    await this._action.run(work);
    await Promise.all([makings.refresh(), datasets.refresh()]);
  }

  protected override render(): TemplateResult | typeof nothing {
    const { value, error } = makings.value;
    if (value === null)
      return error === null ? nothing : serviceErrorPanel('Could not load what was made', error);
    if (value.length === 0) return nothing;
    const fault = this._action.error;
    return html`<section class="card" aria-labelledby="makings">
      <h2 id="makings">Made from documents</h2>
      ${fault === null ? nothing : serviceErrorPanel('That did not work', fault)}
      <ul class="plain column">
        ${keyedRow(
          value,
          ({ id }) => id,
          (making) => this._making(making),
        )}
      </ul>
    </section>`;
  }

  private _making(making: Making): TemplateResult {
    const { id, state, request, answered, sources, rows, tokens, useless, dropped, error } = making;
    const made = rows.training + rows.validation;
    const share = Math.max(answered / sources, made / request.max_rows);
    const withoutRows = counted(useless, uselessWords);
    const lost = counted(dropped, dropWords);
    return html`<li class="column" aria-label=${request.name}>
      <h3>
        ${nameText(request.name)} <span class="badge" data-state=${state}>${state}</span>
        <small class="muted">${kinds[request.kind as Kind] ?? request.kind} by ${request.model}</small>
      </h3>
      ${isUnderway(making) ? progressBar(`Progress of ${request.name}`, 100 * Math.min(1, share)) : nothing}
      ${error === null ? nothing : html`<p class="fault">${error}</p>`}
      <dl class="figures-grid fluid">
        ${figure('Rows', formatCount(made), `of at most ${formatCount(request.max_rows)}`)}
        ${figure('Answers', formatCount(answered), `${formatCount(sources)} to ask about`)}
        ${figure(
          'Tokens',
          formatCount(tokens.prompt + tokens.answer + tokens.grading),
          tokens.expected === null ? null : `about ${formatCount(tokens.expected)} to go`,
        )}
      </dl>
      ${withoutRows === '' ? nothing : html`<p class="muted">Answers without rows: ${withoutRows}.</p>`}
      ${lost === '' ? nothing : html`<p class="muted">Rows dropped: ${lost}.</p>`}
      <div class="row">
        ${[making.datasets.training, making.datasets.validation].map((name) =>
          name === null ? nothing : html`<a href=${datasetPath(name)}>${nameText(name)}</a>`,
        )}
        ${this._buttons(making, id)}
      </div>
    </li>`;
  }

  private _buttons(making: Making, id: string): TemplateResult {
    const { busy } = this._action;
    const { name } = making.request;
    const button = (words: string, work: () => Promise<unknown>) =>
      html`<button type="button" class="small" ?disabled=${busy} aria-label="${words} ${name}" @click=${() => this._do(work)}>
        ${words}
      </button>`;
    if (isUnderway(making)) return button('Stop', () => service.stopMaking(id));
    return html`${making.state === 'completed' ? nothing : button('Resume', () => service.resumeMaking(id))}
    ${button('Forget', () => service.removeMaking(id))}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-making-list': MakingList;
  }
}
