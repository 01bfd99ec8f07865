import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { Import } from '../../api/types.ts';
import { formatBytes, formatCount } from '../../elements/format.ts';
import { KeepFocus } from '../../elements/keep-focus.ts';
import { empty, nameText, progressBar, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { datasets, latest, toasts } from '../../state/app.ts';
import { Remote } from '../../state/remote.ts';
import { datasetPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';
import { importFailure, importProblems } from './import-problems.ts';
import { detectedLine, importBadge, importShare } from './import-words.ts';
import './import-form.ts';
import { LightElement } from '../../elements/light-element.ts';

/**
 * The import of a file or a dataset of the hub: its mapping, its progress and its end. Fires `chosen` with the name of the
 * dataset that is to be trained on, and `removed` once the import was cancelled or discarded.
 */
@customElement('hone-import-view')
export class ImportView extends LightElement {
  @property() importId = '';
  /** In a dialog of the training form: what has left no rows out is chosen as soon as it is there. */
  @property({ type: Boolean }) embedded = false;
  private readonly _removal = new Action(this);
  private readonly _import = new Remote<Import>(() => service.import(this.importId));
  private _of = '';
  private _isCompleted = false;
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, this._import);
    new KeepFocus(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = latest.subscribe(() => this._take());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    this._of = '';
  }

  protected override willUpdate(): void {
    if (!this.isConnected) return;
    if (this._of !== this.importId) {
      this._of = this.importId;
      this._removal.clear();
      this._isCompleted = false;
      this._import.set({ value: null, error: null, loading: false });
      void this._import.refresh();
    }
    const record = this._import.value.value;
    const isCompleted = record?.state === 'completed';
    if (isCompleted && !this._isCompleted) void this._completed(record);
    this._isCompleted = isCompleted;
  }

  /** What has left rows out is read before the form goes on. */
  private async _completed({ dataset, progress }: Import): Promise<void> {
    const isNext = this.embedded && progress.skipped === 0 && dataset !== null;
    await datasets.refresh();
    if (!isNext || !this.isConnected) return;
    toasts.show(`${formatCount(progress.rows)} rows imported.`);
    this._choose(dataset);
  }

  /** Progress is in the frame; what else has changed, also while the page was not connected, is read. */
  private _take(): void {
    const frame = latest.value;
    const isOwn = frame?.type === 'import' && frame.id === this.importId;
    if (this._removal.busy || !(isOwn || frame?.type === 'snapshot')) return;
    const { value } = this._import.value;
    if (isOwn && value !== null && frame.state === value.state)
      this._import.set({ ...this._import.value, value: { ...value, progress: frame.progress } });
    else void this._import.refresh();
  }

  private async _remove(): Promise<void> {
    const { state } = this._import.value.value ?? {};
    const isRunning = state === 'running' || state === 'reading';
    await this._removal.run(async () => {
      await service.removeImport(this.importId);
      if (isRunning) toasts.show('The import was cancelled. Nothing of it was stored.');
      this.dispatchEvent(new CustomEvent('removed'));
    });
    // Frames that came meanwhile were not followed.
    if (this._removal.error !== null) void this._import.refresh();
  }

  private _heading(words: TemplateResult | string): TemplateResult {
    return this.embedded ? html`<p class="wrap"><strong>${words}</strong></p>` : html`<h1>${words}</h1>`;
  }

  protected override render(): TemplateResult {
    const { value: record, error } = this._import.value;
    const card = this.embedded ? 'stack' : 'card';
    if (error?.status === 404) {
      return html`${this._heading('Import not found')}
        <section class=${card}>
          ${empty('This import does not exist any more', html`Imports end with the service. <a href="/datasets">Show all datasets</a>`)}
        </section>`;
    }
    if (record === null) {
      return html`${this._heading('Import')}
        <section class=${card}>
          ${error === null ? skeleton(6) : serviceErrorPanel('Could not load the import', error)}
        </section>`;
    }
    return html`<header class="page-head">
        <div>
          ${this.embedded ? nothing : html`<p class="eyebrow">Import</p>`} ${this._heading(nameText(record.source.name))}
          <p role="status">${importBadge(record)}</p>
        </div>
        <div class="actions">
          ${
            record.state === 'running' || record.state === 'completed'
              ? nothing
              : html`<button type="button" @click=${this._remove}>${record.state === 'reading' ? 'Cancel' : 'Discard'}</button>`
          }
        </div>
      </header>
      ${error === null ? nothing : serviceErrorPanel('Could not read the import again', error)}
      ${this._removal.error === null ? nothing : serviceErrorPanel('Could not remove the import', this._removal.error)}
      <section class=${card} aria-label="Import">
        ${record.container === null ? nothing : html`<p class="wrap"><bdi>${detectedLine(record)}</bdi></p>`}
        ${this._content(record)}
      </section>`;
  }

  private _content(record: Import): TemplateResult {
    const { state, progress } = record;
    if (state === 'reading' && record.container === null) {
      const { done_bytes: done, total_bytes: total } = progress;
      const share = importShare(record);
      return html`<p class="row between wrap-row tabular">
          <span role="status">${share === null ? 'Reading the source…' : 'Downloading from the hub…'}</span>
          ${share === null ? nothing : html`<span>${formatBytes(done)} of ${formatBytes(total)}</span>`}
        </p>
        ${progressBar('Reading', share)}`;
    }
    if (state === 'running') return this._progress(record);
    if (state === 'completed') return this._done(record);
    const isRead = record.container !== null;
    return html`${
      record.error === null
        ? nothing
        : importFailure(record, {
            title: isRead ? 'The import failed; nothing of it was stored' : 'This source cannot be imported',
            next: isRead
              ? 'Correct the source, choose other columns, or skip invalid rows.'
              : 'Correct the source and import it again.',
          })
    }
      ${
        isRead
          ? html`<hone-import-form
              .record=${record}
              @changed=${() => void this._import.refresh()}
            ></hone-import-form>`
          : nothing
      }`;
  }

  private _progress(record: Import): TemplateResult {
    const { done_bytes: done, total_bytes: total, rows, skipped } = record.progress;
    return html`<p class="row between wrap-row tabular">
        <span>${formatCount(rows)} rows${skipped > 0 ? `, ${formatCount(skipped)} left out` : ''}</span>
        <span>${formatBytes(done)} of ${formatBytes(total)}</span>
      </p>
      ${progressBar('Import', importShare(record))}
      <p><button type="button" data-next @click=${this._remove}>Cancel import</button></p>`;
  }

  private _done(record: Import): TemplateResult {
    const { dataset, progress } = record;
    const name = dataset ?? '';
    return html`<p class="check-line" role="status">
        <span class="good">✓ ${nameText(name)}</span>
        <span class="muted">
          ${formatCount(progress.rows)} rows imported${progress.skipped > 0 ? `, ${formatCount(progress.skipped)} left out` : ''}
        </span>
      </p>
      ${progress.skipped > 0 ? importProblems(record) : nothing}
      <div class="actions">
        <button type="button" class="primary" data-next @click=${() => this._choose(name)}>Train on it</button>
        <a class="button" href=${datasetPath(name)}>Open</a>
      </div>`;
  }

  private _choose(name: string): void {
    this.dispatchEvent(new CustomEvent('chosen', { detail: name }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-import-view': ImportView;
  }
}
