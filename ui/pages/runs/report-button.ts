import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { LightElement } from '../../elements/light-element.ts';

/** Saves a run as one HTML file, after asking whether prompts and answers may be in it. */
@customElement('hone-report-button')
export class ReportButton extends LightElement {
  @property() jobId = '';
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

  private _content(): TemplateResult {
    return html`<p>One HTML file with verdict, charts, figures and settings. It opens without Hone and without a network.</p>
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
          href="/api/jobs/${this.jobId}/report?rows=${this._hasRows}"
          download="${this.jobId}.html"
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
