import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../api/request.ts';
import { service } from '../api/service.ts';
import type { Job, ModelDetail, ModelFile } from '../api/types.ts';
import { empty, figure, nameText, serviceErrorPanel, skeleton } from '../elements/parts.ts';
import { formatBytes, formatMoment, formatNumber } from '../format.ts';
import { jobs, models, offers, router, runOf, toasts } from '../state/app.ts';
import { taskName } from '../state/job-words.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';
import './push-dialog.ts';
import './quantize-form.ts';
import { verificationFigures } from './run.ts';
import { lossChart, metricName } from './run-charts.ts';
import { settingLabel, settingText } from './settings-fields.ts';

const fileWords: Readonly<Record<string, string>> = {
  Modelfile: 'for Ollama',
  'template.json': 'the prompt template',
  'verification.json': 'what the verification found',
  'adapter.gguf': 'the adapter for llama.cpp',
};

const inAdapter = (name: string) => name.startsWith('adapter/');

/** What a file is, by its name. */
function fileWord(name: string): string {
  if (inAdapter(name)) return '';
  return fileWords[name] ?? (name.endsWith('.gguf') ? 'the whole model' : '');
}

/** One model: where it comes from, how good it is, its files, and what can be done with it. */
@customElement('hone-model')
export class ModelPage extends LitElement {
  @property() modelId = '';
  @state() private _model: ModelDetail | null = null;
  @state() private _files: readonly ModelFile[] | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _dialog: 'delete' | 'push' | null = null;
  @state() private _busy = false;
  @state() private _failure: ServiceError | null = null;
  private _read = '';
  private _followed: string | null = null;
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, jobs, offers);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    this._followed = null;
  }

  protected override willUpdate(): void {
    if (this._read === this.modelId) return;
    this._read = this.modelId;
    this._model = null;
    this._files = null;
    this._error = null;
    void this._load(this.modelId);
  }

  private async _load(modelId: string): Promise<void> {
    try {
      const model = await service.model(modelId);
      if (modelId !== this.modelId) return;
      this._model = model;
      this._files = await service.modelFiles(modelId);
    } catch (error) {
      if (modelId === this.modelId) this._error = asServiceError(error);
    }
  }

  /** The run that made the model, where its record is still there. */
  private _run(job: Job) {
    const run = runOf(job.job_id);
    if (this._followed !== job.job_id) {
      this._unfollow?.();
      this._followed = job.job_id;
      this._unfollow = run.subscribe(() => this.requestUpdate());
    }
    return run;
  }

  protected override render(): TemplateResult {
    const model = this._model;
    if (model === null) {
      return html`<div class="page">
        <nav class="sub-tabs" aria-label="Models"><a href="/models">All models</a></nav>
        <h1>Model</h1>
        ${
          this._error === null
            ? html`<section class="card tall">${skeleton(9)}</section>`
            : this._error.status === 404
              ? empty(
                  'There is no such model',
                  html`It may have been deleted. <a href="/models">All models</a>`,
                )
              : serviceErrorPanel('The model could not be read', this._error)
        }
      </div>`;
    }
    const job = jobs.value.value?.jobs.find(({ model_id }) => model_id === model.model_id);
    const run = job === undefined ? null : this._run(job);
    return html`<div class="page">
      <nav class="sub-tabs" aria-label="Models"><a href="/models">All models</a></nav>
      <header class="page-head">
        <div>
          <p class="eyebrow tabular">${formatMoment(model.created_at)} · ${formatBytes(model.size_mb * 1e6)}</p>
          <h1>${nameText(model.name)}</h1>
        </div>
        <div class="actions">
          ${job?.verification?.passed === true ? html`<span class="badge" data-state="completed">Verified</span>` : nothing}
          <a class="button primary" href="/playground/${model.model_id}">Try it</a>
          ${
            offers.value.has('POST /api/hub/push')
              ? html`<button type="button" @click=${() => this._open('push')}>Push to the hub…</button>`
              : nothing
          }
          <button type="button" class="danger" @click=${() => this._open('delete')}>Delete…</button>
        </div>
      </header>
      <div class="split">
        <div class="column">
          ${this._lineage(model, job)} ${this._metrics(model, job)}
          ${
            run !== null && run.series.steps.length > 0
              ? html`<section class="card" aria-label="Curve">
                  ${lossChart(run.series)}
                </section>`
              : nothing
          }
        </div>
        <div class="column">
          ${this._filesCard(model)} ${this._use(model)} ${this._settings(model)}
        </div>
      </div>
      ${this._dialogs(model)}
    </div>`;
  }

  private _open(dialog: 'delete' | 'push'): void {
    this._failure = null;
    this._dialog = dialog;
  }

  private _dismiss(): void {
    this._dialog = null;
  }

  private _lineage(model: ModelDetail, job: Job | undefined): TemplateResult {
    return html`<section class="card" aria-labelledby="lineage">
      <h2 id="lineage">Where it comes from</h2>
      <ol class="lineage">
        <li><span class="eyebrow">Base</span>${nameText(model.base_model)}</li>
        <li><span class="eyebrow">Dataset</span>${job === undefined ? '–' : nameText(job.dataset)}</li>
        <li>
          <span class="eyebrow">Training</span>
          <span>
            ${taskName(model.task)}, ${model.strategy}, ${model.provider}${
              job === undefined ? nothing : html` · <a href="/training/${job.job_id}">${job.job_id}</a>`
            }
          </span>
        </li>
        <li><span class="eyebrow">Model</span>${nameText(model.name)}</li>
      </ol>
    </section>`;
  }

  private _metrics(model: ModelDetail, job: Job | undefined): TemplateResult | typeof nothing {
    const metrics = Object.entries(model.metrics ?? {});
    const verification = job?.verification ?? null;
    if (metrics.length === 0 && verification === null) return nothing;
    return html`<section class="card" aria-labelledby="metrics">
      <h2 id="metrics">How good it is</h2>
      <dl class="figures-grid">
        ${metrics.map(([key, value]) => figure(metricName(key), formatNumber(value)))}
        ${verificationFigures(verification)}
      </dl>
    </section>`;
  }

  private _filesCard(model: ModelDetail): TemplateResult {
    return html`<section class="card" aria-labelledby="files">
      <h2 id="files">Files</h2>
      ${
        this._files === null
          ? skeleton(3)
          : html`<ul class="list">${this._files.filter(({ name }) => !inAdapter(name)).map((file) => this._file(model, file))}</ul>
              ${this._adapter(
                model,
                this._files.filter(({ name }) => inAdapter(name)),
              )}`
      }
      ${
        this._files === null || !offers.value.has('POST /api/models/{model_id}/quantize')
          ? nothing
          : html`<hone-quantize-form
              .modelId=${model.model_id}
              .names=${this._files.map(({ name }) => name)}
              @made=${() => this._load(model.model_id)}
            ></hone-quantize-form>`
      }
      <p class="path">
        <code class="wrap"><bdi>${model.path}</bdi></code>
        <hone-copy .text=${model.path} label="Copy path"></hone-copy>
      </p>
    </section>`;
  }

  private _adapter(model: ModelDetail, files: readonly ModelFile[]): TemplateResult | typeof nothing {
    if (files.length === 0) return nothing;
    const size = files.reduce((sum, { bytes }) => sum + bytes, 0);
    return html`<details>
      <summary>The adapter: ${files.length} files, ${formatBytes(size)}</summary>
      <ul class="list">${files.map((file) => this._file(model, file))}</ul>
    </details>`;
  }

  private _file(model: ModelDetail, { name, bytes }: ModelFile): TemplateResult {
    return html`<li class="file">
      <span class="list-main">${nameText(name)}<small class="muted">${fileWord(name)}</small></span>
      <span class="tabular">${formatBytes(bytes)}</span>
      <a class="button small" download href=${service.modelFilePath(model.model_id, name)}
        >Download<span class="off-screen"> ${name}</span></a
      >
    </li>`;
  }

  private _use(model: ModelDetail): TemplateResult {
    const name = model.name.toLowerCase().replace(/[^a-z0-9._-]+/g, '-');
    const quoted = `'${`${model.path}/Modelfile`.replaceAll("'", `'\\''`)}'`;
    const command = `ollama create ${name} -f ${quoted}`;
    return html`<section class="card" aria-labelledby="use">
      <h2 id="use">Use it in Ollama</h2>
      <p class="path"><code class="wrap">${command}</code><hone-copy .text=${command}></hone-copy></p>
    </section>`;
  }

  private _settings(model: ModelDetail): TemplateResult {
    return html`<section class="card">
      <details class="fold bare">
        <summary>Settings it was trained with</summary>
        <div class="scroll-box" tabindex="0" role="region" aria-label="Settings">
          <table class="pairs">
            <tbody>
              ${Object.entries(model.config ?? {}).map(
                ([name, value]) => html`<tr>
                  <th scope="row">${settingLabel(name)}</th>
                  <td class="wrap"><bdi>${settingText(value)}</bdi></td>
                </tr>`,
              )}
            </tbody>
          </table>
        </div>
      </details>
    </section>`;
  }

  private _dialogs(model: ModelDetail): TemplateResult | typeof nothing {
    if (this._dialog === 'push') {
      return html`<hone-push-dialog .model=${model} @dismiss=${this._dismiss}></hone-push-dialog>`;
    }
    if (this._dialog !== 'delete') return nothing;
    const content = html`<p class="wrap">
        Its folder with ${formatBytes(model.size_mb * 1e6)} goes for good: the GGUF file, the adapter and the Modelfile.
        Its run keeps its curves. Training it again takes as long as it did.
      </p>
      ${this._failure === null ? nothing : serviceErrorPanel('The model was not deleted', this._failure)}
      <div class="row end">
        <button type="button" @click=${() => this.querySelector('dialog')?.close()}>Keep it</button>
        <button type="button" class="danger" ?disabled=${this._busy} @click=${() => this._delete()}>Delete the model</button>
      </div>`;
    return html`<hone-dialog
      heading="Delete ${model.name}?"
      .content=${content}
      @dismiss=${this._dismiss}
    ></hone-dialog>`;
  }

  private async _delete(): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    this._failure = null;
    try {
      const { message } = await service.removeModel(this.modelId);
      toasts.show(message);
      this.querySelector('dialog')?.close();
      await models.refresh();
      router.go('/models');
    } catch (error) {
      this._failure = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }
}
