import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { AliasSplit } from '../../../api/types.ts';
import { formatCount } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { serviceErrorPanel } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { aliases } from '../../../state/app.ts';

type SplitGrader = NonNullable<AliasSplit['grader']>;

/** What the grader of a split has scored, and the button that scores the rest, with its progress. */
@customElement('hone-split-grades')
export class SplitGrades extends LightElement {
  /** The name of the alias. */
  @property() name = '';
  @property({ attribute: false }) grader!: SplitGrader;
  /** How many answers were looked at since the button was pressed, and of how many. */
  @state() private _done: { readonly looked: number; readonly of: number } | null = null;
  /** Why the first of the answers has no score. */
  @state() private _fault: string | null = null;
  private _asking = new AbortController();
  private readonly _action = new Action(this);

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._asking.abort();
  }

  private async _grade(): Promise<void> {
    const asking = new AbortController();
    this._asking = asking;
    this._fault = null;
    const of = this.grader.left + this.grader.failed;
    this._done = { looked: 0, of };
    await this._action.run(async () => {
      for (let looked = 0; !asking.signal.aborted; ) {
        const body = { retry_failed: looked === 0 };
        const { graded, failed, error } = await service.gradeSplit(this.name, body, asking.signal);
        this._fault ??= error;
        looked += graded + failed;
        this._done = { looked, of: Math.max(of, looked) };
        if (graded + failed === 0) break;
        await aliases.refresh();
      }
    });
    if (asking.signal.aborted) this._action.clear();
    this._done = null;
    await aliases.refresh();
  }

  private _cancel(): void {
    this._asking.abort();
  }

  protected override render(): TemplateResult {
    const { name, deleted, left, failed } = this.grader;
    if (deleted)
      return html`<p class="warning">The grader ${name} was deleted. End the split, and start one with another grader.</p>`;
    return html`<div class="row wrap-row">${this._done === null ? this._ask(left, failed) : this._progress(this._done)}</div>
      ${this._fault === null ? nothing : html`<p class="warning wrap" role="alert">Some answers have no score: ${this._fault}</p>`}
      ${this._action.error === null ? nothing : serviceErrorPanel('Could not grade the answers', this._action.error)}`;
  }

  private _ask(left: number, failed: number): TemplateResult {
    const { name } = this.grader;
    const open = left + failed;
    if (open === 0) return html`<span class="muted">All answers are graded with ${name}.</span>`;
    const without = failed === 0 ? '' : ` ${formatCount(failed)} could not be graded.`;
    return html`<button type="button" class="small" @click=${this._grade}>
        Grade ${formatCount(open)} ${open === 1 ? 'answer' : 'answers'}
      </button>
      <span class="muted">with ${name}.${without}</span>`;
  }

  private _progress({ looked, of }: { readonly looked: number; readonly of: number }): TemplateResult {
    return html`<progress max=${of} value=${looked} aria-label="Answers that were graded"></progress>
      <span class="tabular" role="status">${formatCount(looked)} of ${formatCount(of)}</span>
      <button type="button" class="small" @click=${this._cancel}>Cancel</button>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-split-grades': SplitGrades;
  }
}
