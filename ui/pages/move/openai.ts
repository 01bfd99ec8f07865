import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Move } from '../../api/types.ts';
import { formatBytes, formatCount } from '../../elements/format.ts';
import { KeepFocus } from '../../elements/keep-focus.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, errorPanel, progressBar, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { datasets } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import { movedEvals, movedFiles, movedJobs } from './moved-lists.ts';

const pollMs = 1_000;
const isBusy = ({ state }: Move) => state === 'listing' || state === 'downloading';

const nextSteps: Readonly<Record<string, string>> = {
  unauthorized: 'Check the key, or make a new one in the settings of OpenAI’s platform.',
  forbidden: 'Use a key that may read files and fine-tuning jobs.',
  rate_limited: 'Wait a minute, then start again. What is here is not downloaded again.',
  unreachable: 'Check the network, then start again. What is here is not downloaded again.',
  upstream: 'Start again later. What is here is not downloaded again.',
  disk_full: 'Free some disk space, then start again. What is here is not downloaded again.',
};

/** Moves the user's own fine-tuning files and jobs from OpenAI. The key is kept in its field only. */
@customElement('hone-move-openai')
export class MoveOpenAi extends LightElement {
  @state() private _move: Move | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _busy = false;
  @state() private _left: ReadonlySet<string> = new Set();
  private _timer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    super();
    new KeepFocus(this);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this._read();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
  }

  /** Reads the state, again and again while something goes on. */
  private async _read(): Promise<void> {
    if (this._timer !== null) clearTimeout(this._timer);
    try {
      this._show(await service.move());
      this._error = null;
    } catch (error) {
      this._error = asServiceError(error);
    }
    if (this.isConnected && (this._busy || (this._move !== null && isBusy(this._move)))) {
      this._timer = setTimeout(() => void this._read(), pollMs);
    }
  }

  /** Makes a call, which may answer when what it has begun has ended. */
  private async _do(call: () => Promise<Move>): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    this._error = null;
    this._timer = setTimeout(() => void this._read(), pollMs);
    let failure: ServiceError | null = null;
    try {
      this._show(await call());
    } catch (error) {
      failure = asServiceError(error);
    }
    this._busy = false;
    await this._read();
    this._error ??= failure;
  }

  private _show(move: Move): void {
    if (this._move !== null && isBusy(this._move) && !isBusy(move)) void datasets.refresh();
    this._move = move;
  }

  private async _cancel(): Promise<void> {
    try {
      this._show(await service.cancelMove());
    } catch (error) {
      this._error = asServiceError(error);
    }
  }

  private get _key(): string {
    return this.querySelector<HTMLInputElement>('#openai-key')?.value.trim() ?? '';
  }

  private _list(event: Event): void {
    event.preventDefault();
    const key = this._key;
    void this._do(() => service.listMove(key));
  }

  private _start(): void {
    const key = this._key;
    const jobs = this._move?.jobs.filter(({ id }) => !this._left.has(id)).map(({ id }) => id) ?? [];
    void this._do(() => service.startMove({ api_key: key, jobs, files: [] }));
  }

  private _bringEvals(): void {
    const evals = this._move?.evals.map(({ id }) => id) ?? [];
    void this._do(() => service.startMove({ api_key: this._key, jobs: [], files: [], evals }));
  }

  private _toggle(id: string, wanted: boolean): void {
    const left = new Set(this._left);
    if (wanted) left.delete(id);
    else left.add(id);
    this._left = left;
  }

  protected override render(): TemplateResult {
    const move = this._move;
    return html`<div class="page">
      ${sectionTabs('Training', '/datasets', true)}
      <header class="page-head"><h1>Import from OpenAI</h1></header>
      <section class="card" aria-label="Key">
        <p>
          Lists your fine-tuning jobs and evals at OpenAI, downloads them with their training and validation files, and proposes
          an equal training here for each job. Only requests for these are sent.
        </p>
        <form class="import-form" autocomplete="off" @submit=${this._list}>
          <div class="field">
            <label for="openai-key">OpenAI API key</label>
            <input
              id="openai-key"
              type="password"
              autocomplete="off"
              spellcheck="false"
              required
              aria-describedby="openai-key-hint"
              @input=${() => this.requestUpdate()}
            />
            <p class="hint" id="openai-key-hint">It is sent to OpenAI alone, and is neither stored nor logged.</p>
          </div>
          <div class="row">
            <button type="submit" class="primary" data-next ?disabled=${move !== null && isBusy(move)}>List jobs and files</button>
          </div>
        </form>
        ${this._error === null ? nothing : serviceErrorPanel('Could not do this', this._error)}
        ${
          move?.error == null
            ? nothing
            : errorPanel({
                title: 'The import from OpenAI ended',
                cause: move.error.message,
                next: nextSteps[move.error.code],
              })
        }
        ${move !== null && isBusy(move) ? this._progress(move) : nothing}
      </section>
      ${
        move === null
          ? html`<section class="card">${this._error === null ? skeleton(4) : nothing}</section>`
          : this._lists(move)
      }
    </div>`;
  }

  private _progress({ state, progress }: Move): TemplateResult {
    const { files_done, files_total, bytes_done, bytes_total } = progress;
    const share = bytes_total > 0 ? Math.min(100, (bytes_done / bytes_total) * 100) : null;
    return html`<p class="row between wrap-row tabular" role="status">
        <span>${state === 'listing' ? 'Listing jobs and files' : `${formatCount(files_done)} of ${formatCount(files_total)} files`}</span>
        <span>${state === 'listing' ? '' : `${formatBytes(bytes_done)} of ${formatBytes(bytes_total)}`}</span>
      </p>
      ${progressBar('Import from OpenAI', state === 'listing' ? null : share)}
      <div class="row"><button type="button" data-next @click=${() => void this._cancel()}>Cancel</button></div>`;
  }

  private _lists(move: Move): TemplateResult {
    const { jobs, files, evals } = move;
    if (jobs.length === 0 && files.length === 0 && evals.length === 0) {
      return html`<section class="card">
        ${
          move.state === 'completed'
            ? empty('No fine-tuning jobs, files or evals', 'The project of this key has none.')
            : empty('Nothing is listed yet', 'Enter your key and list your jobs and files.')
        }
      </section>`;
    }
    const wanted = jobs.filter(({ id }) => !this._left.has(id));
    return html`<section class="card" aria-labelledby="moved-jobs">
        <div class="card-head">
          <h2 id="moved-jobs">Fine-tuning jobs</h2>
          <button
            type="button"
            class="primary"
            ?disabled=${isBusy(move) || wanted.length === 0 || this._key === ''}
            @click=${this._start}
          >
            Download the files of ${wanted.length === 1 ? '1 job' : `${formatCount(wanted.length)} jobs`}
          </button>
        </div>
        ${this._key === '' && !isBusy(move) ? html`<p class="note">Enter your key to download files.</p>` : nothing}
        ${movedJobs(jobs, this._left, (id, isWanted) => this._toggle(id, isWanted))}
      </section>
      ${
        files.length === 0
          ? nothing
          : html`<section class="card" aria-labelledby="moved-files"><h2 id="moved-files">Files</h2>${movedFiles(files)}</section>`
      }
      ${evals.length === 0 ? nothing : this._evals(move)}`;
  }

  private _evals(move: Move): TemplateResult {
    const { evals } = move;
    return html`<section class="card" aria-labelledby="moved-evals">
      <div class="card-head">
        <h2 id="moved-evals">Evals</h2>
        <button type="button" ?disabled=${isBusy(move) || this._key === ''} @click=${this._bringEvals}>
          Download ${evals.length === 1 ? '1 eval' : `${formatCount(evals.length)} evals`}
        </button>
      </div>
      <p class="note">With the results of their runs, for scripts that use <code>/v1/evals</code>.</p>
      ${movedEvals(evals)}
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-move-openai': MoveOpenAi;
  }
}
