import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Identity, JobDetail, Lineage, ModelDetail } from '../../api/types.ts';
import { formatBytes, formatMoment } from '../../elements/format.ts';
import { empty, modelName, nameText, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { choices, datasets, evaluations, latest, models, pushed, router, runOf } from '../../state/app.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { asServiceError, Reread } from '../../state/remote.ts';
import { session } from '../../state/session.ts';
import { Watch } from '../../state/store.ts';
import { tellDeletion } from '../../state/tell-deletion.ts';
import { deletion } from '../../views/deletion.ts';
import '../../views/identity.ts';
import '../../views/export/model-export.ts';
import '../../views/lineage/answers-as.ts';
import './model-files.ts';
import { LightElement } from '../../elements/light-element.ts';
import { settingsTable } from '../../settings/settings-table.ts';
import { copyLink } from '../../views/copy-link.ts';
import { datasetLink } from '../../views/lineage/dataset-link.ts';
import { evaluationLinks } from '../../views/lineage/evaluation-links.ts';
import { parentLink } from '../../views/lineage/parent-link.ts';
import { lossChart, metricFigures } from '../../views/runs/run-charts.ts';
import { judgementSentence } from '../../views/runs/verdict/judgement.ts';
import { exportBadge, verificationView } from '../../views/runs/verdict/verification.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';
import { pushOf, pushProgress } from './push-dialog.ts';
import { useThroughApi } from './use-through-api.ts';

interface Shown {
  readonly detail: ModelDetail;
  readonly lineage: Lineage;
}

/** One model: its lineage, quality, files and actions. */
@customElement('hone-model')
export class ModelPage extends LightElement {
  @property() modelId = '';
  @state() private _shown: Shown | null = null;
  @state() private _error: ServiceError | null = null;
  @state() private _dialog: 'delete' | 'push' | null = null;
  private readonly _deletion = new Action(this);
  private _read = '';
  private _wasListed = false;
  /** The list of models that is without this one, of which the service was asked once more. */
  private _missedIn: unknown = null;
  private _followed: string | null = null;
  private _unfollow: (() => void) | null = null;
  private _unlisten: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, choices, pushed, models, session);
    new Reread(this, datasets, evaluations);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unlisten = latest.subscribe(() => {
      const frame = latest.value;
      if (frame?.type === 'identity' && frame.model_id === this.modelId) this._identify(frame);
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unlisten?.();
    this._unfollow?.();
    this._followed = null;
    this._read = '';
  }

  protected override willUpdate(): void {
    // It is left when it was deleted here, and updated once more.
    if (!this.isConnected) return;
    // Another tab may have deleted it.
    const { value: list } = models.value;
    const isListed = list?.some(({ model_id }) => model_id === this.modelId) ?? false;
    const isGone = this._wasListed && !isListed && !this._deletion.busy;
    this._wasListed = isListed;
    if (isGone && this._read === this.modelId) {
      this._shown = null;
      this._error = deleted();
      return;
    }
    if (this._read === this.modelId) {
      // It was deleted before the list was read, or was made after it.
      if (
        list !== null &&
        !isListed &&
        this._shown !== null &&
        !this._deletion.busy &&
        this._missedIn !== list
      ) {
        this._missedIn = list;
        void this._load(this.modelId);
      }
      return;
    }
    this._read = this.modelId;
    this._shown = null;
    this._error = null;
    void this._load(this.modelId);
  }

  private async _load(modelId: string): Promise<void> {
    try {
      const [detail, lineage] = await Promise.all([service.model(modelId), service.lineage(modelId)]);
      if (modelId === this.modelId) this._shown = { detail, lineage };
    } catch (error) {
      if (modelId === this.modelId) this._fail(asServiceError(error));
    }
  }

  /** Keeps what is shown, unless it was deleted meanwhile. */
  private _fail(error: ServiceError): void {
    const isGone = this._shown !== null && error.status === 404;
    if (isGone) this._shown = null;
    this._error = isGone ? deleted() : error;
  }

  /** Takes over a new name, notes or tags. */
  private _identify({ display_name, notes, tags }: Identity): void {
    if (this._shown === null) return;
    const { detail, lineage } = this._shown;
    this._shown = { detail, lineage: { ...lineage, display_name, notes, tags } };
  }

  /** The run that made the model. */
  private _run(jobId: string) {
    const run = runOf(jobId);
    if (this._followed !== jobId) {
      this._unfollow?.();
      this._followed = jobId;
      this._unfollow = run.subscribe(() => this.requestUpdate());
    }
    return run;
  }

  protected override render(): TemplateResult {
    if (this._shown === null) {
      return html`<div class="page">
        ${sectionTabs('Models', '/models', true)}
        <h1>Model</h1>
        ${
          this._error === null
            ? html`<section class="card tall">${skeleton(9)}</section>`
            : this._error.status === 404
              ? html`<section class="card">
                  ${empty(
                    this._error.detail === '' ? 'This model was deleted' : 'Model not found',
                    html`${this._error.detail === '' ? '' : 'It may have been deleted.'} <a href="/models">All models</a>`,
                  )}
                </section>`
              : serviceErrorPanel('Could not load the model', this._error)
        }
      </div>`;
    }
    const { detail, lineage } = this._shown;
    const hasGguf = lineage.files.some(({ name }) => name.endsWith('.gguf'));
    return html`<div class="page">
      ${sectionTabs('Models', '/models', true)}
      <header class="page-head">
        <div>
          <p class="eyebrow tabular">${formatMoment(lineage.created_at)} · ${formatBytes(detail.size_mb * 1e6)}</p>
          <hone-identity
            .modelId=${lineage.model_id}
            .of=${lineage}
            @identified=${({ detail: named }: CustomEvent<Identity>) => this._identify(named)}
          ></hone-identity>
          <p class="muted">Its name in the API is ${nameText(lineage.name)}.<hone-answers-as model=${lineage.name}></hone-answers-as></p>
        </div>
        <div class="actions">
          ${exportBadge(lineage)}
          <a class="button primary" href="/playground/${lineage.model_id}">Try it</a>
          <a class="button" href="/models/evaluations?model=${lineage.model_id}">Evaluate…</a>
          <a class="button" href="/models/aliases?model=${lineage.model_id}">Make it live…</a>
          <button type="button" @click=${() => this._open('push')}>Push to the hub…</button>
          <button type="button" class="danger" @click=${() => this._open('delete')}>Delete…</button>
          ${copyLink()}
        </div>
      </header>
      ${this._dialog === 'push' ? nothing : pushing(lineage)}
      <div class="split">
        <div class="column">${lineageCard(lineage, this._job(lineage))} ${quality(lineage, this._job(lineage))} ${this._curve(lineage)}</div>
        <div class="column">
          <hone-model-files
            .modelId=${lineage.model_id}
            .files=${lineage.files}
            .path=${detail.path}
          ></hone-model-files>
          <hone-model-export
            .modelId=${lineage.model_id}
            @made=${() => this._load(lineage.model_id)}
          ></hone-model-export>
          ${useThroughApi(lineage.name)} ${hasGguf ? ollama(detail) : nothing} ${settingsCard(lineage)}
        </div>
      </div>
      ${this._dialogs(detail, lineage)}
    </div>`;
  }

  private _job({ job_id }: Lineage): JobDetail | null {
    return job_id === null ? null : this._run(job_id).value.job;
  }

  private _curve({ job_id }: Lineage): TemplateResult | typeof nothing {
    if (job_id === null) return nothing;
    const { series, value } = this._run(job_id);
    if (series.steps.length === 0) {
      // Reserves the chart's space until its data arrive.
      return value.job === null && value.error === null
        ? html`<section class="card tall">${skeleton(6)}</section>`
        : nothing;
    }
    return html`<section class="card" aria-label="Loss chart">${lossChart(series)}</section>`;
  }

  private _open(dialog: 'delete' | 'push'): void {
    this._deletion.clear();
    this._dialog = dialog;
  }

  private _dismiss(): void {
    this._dialog = null;
  }

  private _dialogs(detail: ModelDetail, lineage: Lineage): TemplateResult | typeof nothing {
    if (this._dialog === 'push') {
      return html`<hone-push-dialog .model=${lineage} @dismiss=${this._dismiss}></hone-push-dialog>`;
    }
    if (this._dialog !== 'delete') return nothing;
    const content = deletion({
      noun: 'model',
      consequence: html`Its files (${formatBytes(detail.size_mb * 1e6)}) are kept in the bin for seven days: the GGUF file, the adapter and the Modelfile.
        ${lineage.job_id === null ? nothing : 'The run and its charts are kept.'}`,
      busy: this._deletion.busy,
      error: this._deletion.error,
      remove: (permanently) => this._delete(permanently),
      close: () => this.querySelector('dialog')?.close(),
    });
    return html`<hone-dialog
      heading="Delete ${lineage.display_name}?"
      .content=${content}
      @dismiss=${this._dismiss}
    ></hone-dialog>`;
  }

  private async _delete(permanently: boolean): Promise<void> {
    await this._deletion.run(async () => {
      const { modelId } = this;
      tellDeletion(await service.removeModel(modelId, permanently), () => {
        models.renew();
        router.go(`/models/${modelId}`);
      });
      this.querySelector('dialog')?.close();
      await models.refresh();
      router.go('/models');
    });
  }
}

const deleted = () => new ServiceError(404, 'The model was deleted.', '');

declare global {
  interface HTMLElementTagNameMap {
    'hone-model': ModelPage;
  }
}

/** The progress of a push that runs in the background. */
function pushing({ model_id }: Lineage): TemplateResult | typeof nothing {
  const frame = pushOf(model_id);
  return frame === null
    ? nothing
    : html`<section class="card" aria-label="Push to ${frame.repo_name ?? 'the hub'}">${pushProgress(frame)}</section>`;
}

function lineageCard(lineage: Lineage, job: JobDetail | null): TemplateResult {
  const { job_id: jobId, model_id: modelId } = lineage;
  const found = evaluationLinks(({ model_id }) => model_id === modelId);
  return html`<section class="card" aria-labelledby="lineage">
    <h2 id="lineage">Lineage</h2>
    <ol class="lineage">
      <li>
        <span class="eyebrow">Base model</span>${modelName(lineage.base_model)}
        <small class="muted">${nameText(lineage.base_model)}</small>
      </li>
      ${
        lineage.parent === null
          ? nothing
          : html`<li><span class="eyebrow">Goes on from</span><span>${parentLink(lineage.parent)}</span></li>`
      }
      <li>
        <span class="eyebrow">Dataset</span><span>${datasetLink(lineage.dataset)}</span>
        ${job?.validation_dataset == null ? nothing : html`<small class="muted">validated on ${datasetLink(job.validation_dataset)}</small>`}
      </li>
      <li>
        <span class="eyebrow">Training</span>
        <span>
          ${taskName(lineage.task)}, ${strategyName(lineage.strategy)}, ${lineage.provider} ·
          ${jobId === null ? 'run deleted' : html`<a href="/training/${jobId}">${jobId}</a>`}
        </span>
      </li>
      <li>
        <span class="eyebrow">Model</span>${nameText(lineage.name)}
        <small class="muted">${lineage.chat_template ? 'with a chat template' : 'without a chat template'}</small>
      </li>
      ${
        found === null
          ? nothing
          : html`<li><span class="eyebrow">Evaluations</span><span>${found}</span></li>`
      }
    </ol>
  </section>`;
}

function quality({ metrics, verification }: Lineage, job: JobDetail | null): TemplateResult | typeof nothing {
  const judgement = job?.verdict?.judgement;
  if (Object.keys(metrics).length === 0 && verification === null && judgement === undefined) return nothing;
  return html`<section class="card" aria-labelledby="metrics">
    <h2 id="metrics">Quality</h2>
    ${judgement === undefined ? nothing : judgementSentence(judgement)}
    ${metricFigures(metrics)} ${verificationView(verification)}
  </section>`;
}

function ollama({ name, path }: ModelDetail): TemplateResult {
  const tag = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+/, '');
  const quoted = `'${`${path}/Modelfile`.replaceAll("'", `'\\''`)}'`;
  const command = `ollama create ${tag || 'model'} -f ${quoted}`;
  return html`<section class="card" aria-labelledby="use">
    <h2 id="use">Use with Ollama</h2>
    <p class="path"><code class="wrap">${command}</code><hone-copy .text=${command}></hone-copy></p>
  </section>`;
}

function settingsCard({ settings }: Lineage): TemplateResult {
  return html`<section class="card">
    <details class="fold bare">
      <summary>Training settings</summary>
      ${settingsTable(settings, 'Settings')}
    </details>
  </section>`;
}
