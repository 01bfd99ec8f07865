import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../../api/request.ts';
import type { Answer } from '../../../api/routes.ts';
import { service } from '../../../api/service.ts';
import { formatCount, formatMoment } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { Action } from '../../../state/action.ts';
import { router, toasts } from '../../../state/app.ts';
import { asServiceError } from '../../../state/remote.ts';
import { datasetPath } from '../../../state/router.ts';
import '../../../views/datasets/dataset-rows.ts';
import { takeBack } from '../clean-rows.ts';
import { versionUses } from './version-uses.ts';

const pageRows = 25;

/** The rows of a version of a dataset, which can be downloaded and restored. Fires `changed` when the dataset has other rows. */
@customElement('hone-dataset-version')
export class DatasetVersion extends LightElement {
  @property() name = '';
  @property() sha256 = '';
  /** The version of the rows that the dataset has now. */
  @property() now = '';
  @state() private _page: Answer<'GET /api/datasets/{name}/versions/{sha256}'> | null = null;
  @state() private _error: ServiceError | null = null;
  /** The number of the first row, from 0. */
  @state() private _from = 0;
  private _asking = new AbortController();
  private readonly _restoring = new Action(this);

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has('sha256')) this._from = 0;
    if (['name', 'sha256', 'now', '_from'].some((key) => changed.has(key))) void this._read();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._asking.abort();
  }

  private async _read(): Promise<void> {
    this._asking.abort();
    this._asking = new AbortController();
    const { signal } = this._asking;
    try {
      const wanted = { from: this._from, rows: pageRows };
      this._page = await service.datasetVersion(this.name, this.sha256, wanted, signal);
      this._error = null;
    } catch (error) {
      if (!signal.aborted) this._error = asServiceError(error);
    }
  }

  private async _restore(): Promise<void> {
    const { name, sha256, now } = this;
    await this._restoring.run(async () => {
      await service.restoreVersion(name, sha256, now);
      const changed = () => this.dispatchEvent(new CustomEvent('changed'));
      toasts.show('The version was restored.', 'info', () => void takeBack(name).then(changed));
      router.go(datasetPath(name));
    });
    // After a refusal, too: the dataset may have other rows than those that are known here.
    this.dispatchEvent(new CustomEvent('changed'));
  }

  protected override render(): TemplateResult {
    const page = this._page;
    return html`<section class="card" aria-labelledby="version-heading">
      <h2 id="version-heading">${page?.current ? 'Its rows now' : 'An earlier version'}</h2>
      ${this._error === null ? nothing : serviceErrorPanel('Could not load the version', this._error)}
      ${this._restoring.error === null ? nothing : serviceErrorPanel('Could not restore the version', this._restoring.error)}
      ${page === null ? (this._error === null ? skeleton(8) : nothing) : this._body(page)}
      <p><a href=${datasetPath(this.name)}>Show the dataset as it is now</a></p>
    </section>`;
  }

  private _body(page: NonNullable<typeof this._page>): TemplateResult {
    const { rows, lines, num_examples: total, next_from: next } = page;
    const go = (from: number) => () => {
      this._from = from;
    };
    const of = total === null ? '' : ` of ${formatCount(total)}`;
    return html`<p class="wrap">Stored ${formatMoment(page.created_at)}. Used by ${versionUses(page.used_by)}.</p>
      <div class="row wrap-row">
        ${
          page.current
            ? nothing
            : html`<button type="button" ?disabled=${this._restoring.busy} @click=${this._restore}>Restore as the newest</button>`
        }
        <a class="button" href=${service.versionFilePath(this.name, this.sha256)} download>Download</a>
        <p class="tabular" role="status">Rows ${formatCount(this._from + 1)} to ${formatCount(this._from + rows.length)}${of}</p>
      </div>
      <hone-dataset-rows .rows=${rows} .numbers=${lines} label="Rows of the version"></hone-dataset-rows>
      <div class="row wrap-row">
        <button type="button" class="small" ?disabled=${this._from === 0} @click=${go(Math.max(0, this._from - pageRows))}>
          Previous
        </button>
        <button type="button" class="small" ?disabled=${next === null} @click=${go(next ?? 0)}>Next</button>
      </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-version': DatasetVersion;
  }
}
