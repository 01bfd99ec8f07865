import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { pathOf } from '../api/call.ts';
import { LightElement } from '../elements/light-element.ts';

/** Saves runs or evaluations as one HTML file, after asking whether prompts and answers may be in it. */
@customElement('hone-report-button')
export class ReportButton extends LightElement {
  /** What the report is of: IDs of runs or evaluations. */
  @property({ attribute: false }) ids: readonly string[] = [];
  @state() private _isOpen = false;
  @state() private _hasRows = false;

  protected override render(): TemplateResult {
    return html`<button type="button" @click=${() => this._open(true)}>Report…</button>
      ${
        this._isOpen
          ? html`<hone-dialog
              heading="Save a report"
              .content=${this._content()}
              @dismiss=${() => this._open(false)}
            ></hone-dialog>`
          : nothing
      }`;
  }

  private _open(isOpen: boolean): void {
    this._isOpen = isOpen;
    this._hasRows = false;
  }

  private get _isOfRuns(): boolean {
    return this.ids[0]?.startsWith('train_') ?? false;
  }

  private get _path(): string {
    const rows = this._hasRows ? 'true' : 'false';
    const ids = this.ids.join();
    if (!this._isOfRuns) return pathOf('GET /api/evaluations/report', { query: { evaluations: ids, rows } });
    return this.ids.length > 1
      ? pathOf('GET /api/jobs/report', { query: { jobs: ids, rows } })
      : pathOf('GET /api/jobs/{job_id}/report', { path: { job_id: ids }, query: { rows } });
  }

  private _content(): TemplateResult {
    return html`<p>
        One HTML file with ${this._isOfRuns ? 'verdict, charts, figures and settings' : 'figures and the digests of the rows'}. It
        opens without Hone and without a network.
      </p>
      <label class="check">
        <input
          type="checkbox"
          .checked=${this._hasRows}
          @change=${({ target }: Event) => {
            this._hasRows = (target as HTMLInputElement).checked;
          }}
        />
        Include prompts and answers
      </label>
      <p class="note">Prompts are rows of the dataset. Without them the report has none of its rows.</p>
      <div class="row end">
        <a
          class="button primary"
          href=${this._path}
          download="${this.ids.join('-')}.html"
          @click=${() => this.querySelector('dialog')?.close()}
          >Save</a
        >
      </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-report-button': ReportButton;
  }
}
