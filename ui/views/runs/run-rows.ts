import { html, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Answer } from '../../api/routes.ts';
import { service } from '../../api/service.ts';
import '../../elements/copy.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { datasetPath, versionPath } from '../../state/router.ts';

const shownDigits = 12;

/** The digest of the rows that a run was started with, and whether its dataset is still the same. */
@customElement('hone-run-rows')
export class RunRows extends LightElement {
  @property() jobId = '';
  /** `null` while it is read; `undefined` if it could not be read. */
  @state() private _data: Answer<'GET /api/jobs/{job_id}/data'> | null | undefined = null;
  private _of = '';

  protected override willUpdate(): void {
    if (this._of === this.jobId) return;
    this._of = this.jobId;
    this._data = null;
    void this._read(this.jobId);
  }

  private async _read(jobId: string): Promise<void> {
    const data = await service.jobData(jobId).catch(() => undefined);
    if (jobId === this.jobId) this._data = data;
  }

  protected override render(): TemplateResult {
    // The line has its place before it is known.
    return html`<p class="muted">Rows: ${this._words()}</p>`;
  }

  private _words(): TemplateResult | string {
    if (this._data === null) return '…';
    if (this._data === undefined) return 'their digest could not be read';
    const { rows, sha256, dataset, changed } = this._data;
    if (sha256 === null) return 'their file is gone';
    const count = rows === null ? '' : `${formatCount(rows)}, `;
    return html`${count}SHA-256 <code title=${sha256}>${sha256.slice(0, shownDigits)}…</code>
      <hone-copy .text=${sha256} label="Copy"></hone-copy>
      ${dataset === null ? 'Their dataset is gone; the run keeps them.' : this._since(dataset, changed, sha256)}`;
  }

  private _since(dataset: string, changed: boolean | null, sha256: string): TemplateResult | string {
    if (changed === null) return '';
    const link = html`<a href=${datasetPath(dataset)}>The dataset</a>`;
    return changed
      ? html`${link} has changed since; the run keeps
          <a href=${versionPath(dataset, sha256)}>the rows that it was started with</a>.`
      : html`${link} has the same rows now.`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-run-rows': RunRows;
  }
}
