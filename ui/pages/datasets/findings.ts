import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { analysedBytes } from '../../../src/contract/rows.ts';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Analysis } from '../../api/types.ts';
import { formatCount, formatMegabytes } from '../../elements/format.ts';
import { KeepFocus } from '../../elements/keep-focus.ts';
import { LightElement } from '../../elements/light-element.ts';
import { serviceErrorPanel } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { asServiceError } from '../../state/remote.ts';
import { datasetPath } from '../../state/router.ts';
import { cleanRows, type Fix } from './clean-rows.ts';

/** What an analysis may find in rows, and how that is put right. */
interface Finding {
  /** Its name in an address. */
  readonly name: Exclude<Fix, 'flagged_rows' | 'unflagged_rows'> | 'near_duplicates';
  /** After the number of rows. */
  readonly one: string;
  readonly many: string;
  readonly fix: { readonly name: Fix; readonly label: string } | null;
  readonly lines: (found: Analysis) => readonly number[];
}

const findings: readonly Finding[] = [
  {
    name: 'exact_duplicates',
    one: 'row repeats an earlier one',
    many: 'rows repeat an earlier one',
    fix: { name: 'exact_duplicates', label: 'Remove duplicates' },
    lines: ({ exact_duplicates: { groups } }) => groups.flatMap(({ lines }) => lines),
  },
  {
    name: 'near_duplicates',
    one: 'row is nearly the same as another',
    many: 'rows are nearly the same as another',
    fix: null,
    lines: ({ near_duplicates: { pairs } }) => pairs.flatMap(({ lines }) => lines),
  },
  {
    name: 'empty_answers',
    one: 'row has an empty answer',
    many: 'rows have an empty answer',
    fix: { name: 'empty_answers', label: 'Remove' },
    lines: ({ empty_answers: { lines } }) => lines,
  },
  {
    name: 'padded_texts',
    one: 'row has white space at the beginning or end of a text',
    many: 'rows have white space at the beginning or end of a text',
    fix: { name: 'padded_texts', label: 'Trim' },
    lines: ({ padded_texts: { lines } }) => lines,
  },
];

/** The lines of the rows that a finding is shown by, of those that the analysis names. */
export const linesOf = (name: string, found: Analysis): readonly number[] =>
  [...new Set(findings.find((finding) => finding.name === name)?.lines(found))].sort((a, b) => a - b);

/**
 * Looks for duplicates, empty answers and white space in a version of a dataset, and puts them right. Fires `found` with
 * what was found, `null` if nothing can be, and `changed` when the rows are others.
 */
@customElement('hone-dataset-findings')
export class DatasetFindings extends LightElement {
  @property() name = '';
  @property() version = '';
  @property({ attribute: false }) sizeMb = 0;
  @state() private _found: Analysis | null = null;
  @state() private _error: ServiceError | null = null;
  private _of = '';
  private _asking: AbortController | null = null;
  private readonly _action = new Action(this);

  constructor() {
    super();
    new KeepFocus(this);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._asking?.abort();
    this._of = '';
  }

  protected override willUpdate(): void {
    const of = JSON.stringify([this.name, this.version]);
    if (!this.isConnected || of === this._of) return;
    this._of = of;
    void this._look();
  }

  private async _look(): Promise<void> {
    this._asking?.abort();
    const asking = new AbortController();
    this._asking = asking;
    this._error = null;
    try {
      this._found = await service.analyse(this.name, {}, asking.signal);
    } catch (error) {
      if (asking.signal.aborted) return;
      this._found = null;
      this._error = asServiceError(error);
    }
    this.dispatchEvent(new CustomEvent('found', { detail: this._found }));
  }

  private _changed(): void {
    this.dispatchEvent(new CustomEvent('changed'));
  }

  private async _fix(fix: Fix): Promise<void> {
    const { name, version } = this;
    await this._action.run(() => cleanRows(name, { version, fix }, () => this._changed()));
    this._changed();
  }

  protected override render(): TemplateResult {
    return html`${this._action.error === null ? nothing : serviceErrorPanel('Could not clean the rows', this._action.error)}
      ${this._error === null ? this._list() : this._failed(this._error)}`;
  }

  private _failed({ message }: ServiceError): TemplateResult {
    return html`<p class="row between wrap-row">
      <span class="muted wrap">Could not look for duplicates. <bdi>${message}</bdi></span>
      <button type="button" class="small" data-next @click=${() => this._look()}>Try again</button>
    </p>`;
  }

  private _list(): TemplateResult {
    const found = this._found;
    if (found === null)
      return html`<p class="muted" role="status">Looking for duplicates…${this.sizeMb * 1e6 > analysedBytes ? ` Datasets over ${formatMegabytes(analysedBytes / 1e6)} are analysed when their page is first opened.` : ''}</p>`;
    const there = findings.filter(({ name }) => found[name].rows > 0);
    if (there.length === 0) {
      return html`<p role="status">No duplicates, empty answers or white space around texts.</p>`;
    }
    return html`<ul class="list" aria-label="Findings">
      ${there.map((finding) => this._finding(finding, found[finding.name].rows))}
    </ul>`;
  }

  private _finding({ name, one, many, fix }: Finding, rows: number): TemplateResult {
    const words = `${formatCount(rows)} ${rows === 1 ? one : many}`;
    return html`<li class="row between wrap-row">
      <span>${words}</span>
      <span class="row">
        <a class="button small" href="${datasetPath(this.name)}?finding=${name}" aria-label="Show: ${words}">Show</a>
        ${
          fix === null
            ? nothing
            : html`<button
                type="button"
                class="small"
                aria-label="${fix.label}: ${words}"
                data-next
                ?disabled=${this._action.busy}
                @click=${() => this._fix(fix.name)}
              >
                ${fix.label}
              </button>`
        }
      </span>
    </li>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-findings': DatasetFindings;
  }
}
