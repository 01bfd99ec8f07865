import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { chosenText } from '../../../src/contract/models/chosen-text.ts';
import type { ExportForm } from '../../../src/contract/models/export-forms.ts';
import { importanceText } from '../../../src/contract/models/importance-text.ts';
import { defaultQuantizations } from '../../../src/contract/models/quantizations.ts';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Choices, ModelExport } from '../../api/types.ts';
import { formatBytes, formatNumber, formatPercent } from '../../elements/format.ts';
import { info } from '../../elements/info/info.ts';
import { LightElement } from '../../elements/light-element.ts';
import { figure, progressBar, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Action } from '../../state/action.ts';
import { choices, exported, latest } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';
import { phaseName } from '../../state/runs/job-words.ts';
import { Watch } from '../../state/store.ts';
import { formFields, formLines, formWords } from './export-forms.ts';

type Type = Choices['quantizations'][number];

/** What became of a model's GGUF files, and making them again, in other types or other forms; fires `made` when there are new ones. */
@customElement('hone-model-export')
export class ModelExportView extends LightElement {
  @property() modelId = '';
  @state() private _export: ModelExport | null = null;
  /** The types that were ticked or unticked, before that those that failed. */
  @state() private _chosen: readonly Type[] | null = null;
  @state() private _forms: readonly ExportForm[] = [];
  private readonly _action = new Action(this);
  @state() private _failure: { readonly title: string; readonly error: ServiceError } | null = null;
  private _read = '';
  /** The number of the latest question about the export. */
  private _newest = 0;
  private _told: unknown = null;
  /** What a frame has told of an export since the latest question. */
  private _following: ModelExport['underway'] = null;
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Watch(this, exported, choices);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    choices.ensure();
    this._unfollow = latest.subscribe(() => {
      // An export may have gone on or ended before the page heard of changes.
      if (latest.value?.type === 'snapshot' && this._read !== '') void this._load();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
    // It may have ended when it is shown again.
    this._read = '';
  }

  protected override willUpdate(): void {
    if (this.isConnected && this._read !== this.modelId) {
      this._read = this.modelId;
      this._export = null;
      this._chosen = null;
      this._forms = [];
      this._failure = null;
      void this._load();
    }
    const frame = exported.value;
    if (frame === null || frame === this._told || frame.model_id !== this.modelId) return;
    this._told = frame;
    const { state: now, quantizations, forms, phase = null, progress = null, detail = null } = frame;
    if (now === 'waiting' || now === 'running') {
      this._following = { quantizations, forms, state: now, phase, progress, detail };
      if (this._export !== null) this._export = { ...this._export, underway: this._following };
      return;
    }
    this._chosen = null;
    this._forms = [];
    void this._load();
    this.dispatchEvent(new CustomEvent('made', { bubbles: true }));
  }

  /**
   * Reads what there is. An answer to an earlier question is dropped: it may hide an end. A frame that came after the
   * question tells more than the answer.
   */
  private async _load(): Promise<void> {
    this._newest += 1;
    const mine = this._newest;
    this._following = null;
    try {
      const found = await service.modelExport(this.modelId);
      if (mine === this._newest) this._export = { ...found, underway: this._following ?? found.underway };
    } catch (error) {
      if (mine === this._newest)
        this._failure = { title: 'Could not read the export', error: asServiceError(error) };
    }
  }

  /** Runs one action at a time; its failure is shown here. */
  private async _do(title: string, act: () => Promise<unknown>): Promise<void> {
    if (this._action.busy) return;
    this._failure = null;
    await this._action.run(async () => {
      await act();
      await this._load();
    });
    if (this._action.error !== null) this._failure = { title, error: this._action.error };
  }

  private _start(body: Parameters<typeof service.exportModel>[1]): Promise<void> {
    return this._do('Could not export the model', () => service.exportModel(this.modelId, body));
  }

  protected override render(): TemplateResult {
    const found = this._export;
    return html`<section class="card" aria-labelledby="export">
      <h2 id="export">Export</h2>
      ${found === null ? (this._failure === null ? skeleton(3) : nothing) : this._content(found)}
      ${this._failure === null ? nothing : serviceErrorPanel(this._failure.title, this._failure.error)}
    </section>`;
  }

  private _content(found: ModelExport): TemplateResult {
    const lines = [...found.files.map((file) => fileView(file, found.reason)), ...formLines(found)];
    return html`${standing(found)}
      ${lines.length === 0 ? nothing : html`<ul class="list">${lines}</ul>`}
      ${costDetails(found)}
      ${found.underway === null ? this._form(found) : this._underway(found.underway)}`;
  }

  private _underway({ quantizations, forms, state: now, phase, progress, detail }: Underway): TemplateResult {
    const types = namesOf(quantizations, forms);
    return html`<div role="status">
        <p>
          ${
            now === 'waiting'
              ? `${types}: waits until no training and no other export is underway.`
              : html`${types}: ${phaseName(phase) || 'Starting'}${detail ? html` <span class="muted"><bdi>${detail}</bdi></span>` : nothing}`
          }
        </p>
      </div>
      ${now === 'waiting' ? nothing : progressBar('Export', progress === null ? null : progress * 100)}
      <div class="row">
        <button
          type="button"
          ?disabled=${this._action.busy}
          @click=${() => this._do('Could not cancel the export', () => service.cancelExport(this.modelId))}
        >
          Cancel the export
        </button>
      </div>`;
  }

  private _form(found: ModelExport): TemplateResult {
    const types = choices.value.value?.quantizations ?? [];
    const chosen = this._chosen ?? proposed(found, types);
    const toggle = (type: Type) => {
      this._chosen = types.filter((one) => chosen.includes(one) !== (one === type));
    };
    const toggleForm = (form: ExportForm) => {
      const isOn = this._forms.includes(form);
      this._forms = isOn ? this._forms.filter((one) => one !== form) : [...this._forms, form];
    };
    const body = {
      quantizations: chosen.length === 0 ? undefined : [...chosen],
      merged: this._forms.includes('merged'),
      adapter_gguf: this._forms.includes('adapter_gguf'),
    };
    const form = html`<fieldset class="plain">
        <legend>Types</legend>
        <div class="row wrap-row">
          ${types.map(
            (type) => html`<span
              ><label class="check"
                ><input
                  type="checkbox"
                  .checked=${chosen.includes(type)}
                  ?disabled=${this._action.busy}
                  @change=${() => toggle(type)}
                />${type}</label
              >${info(type)}</span
            >`,
          )}
        </div>
      </fieldset>
      ${formFields(found, this._forms, this._action.busy, toggleForm)}
      <div class="row wrap-row">
        <button
          type="button"
          class=${found.state === 'done' ? '' : 'primary'}
          ?disabled=${this._action.busy || (chosen.length === 0 && this._forms.length === 0)}
          @click=${() => this._start(body)}
        >
          ${exportWords(found, chosen, this._forms)}
        </button>
        <span class="muted">From the adapter and the base model.</span>
      </div>
      ${
        found.chosen == null
          ? nothing
          : html`<div class="row">
              <button type="button" ?disabled=${this._action.busy} @click=${() => this._start({ strength: 1 })}>
                Use the trained adapter again
              </button>
            </div>`
      }`;
    return found.state === 'failed'
      ? form
      : html`<details class="fold bare">
          <summary>Export to other types, or again</summary>
          ${form}
        </details>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-model-export': ModelExportView;
  }
}

type Underway = NonNullable<ModelExport['underway']>;

/** The state in words, with what there is. */
function standing({ state: now, reason, advice, files, chosen }: ModelExport): TemplateResult {
  const isAnyMade = files.some(({ name }) => name !== null);
  const what = isAnyMade
    ? 'The adapter is kept, and so are the files that were made.'
    : 'The adapter is kept. The model answers through its base model and the adapter.';
  if (now === 'done')
    return html`<p>
      Exported. Each file is the base model with ${chosen == null ? 'the adapter' : chosenText(chosen)} merged into it.
    </p>`;
  if (now === 'skipped') return html`<p class="wrap">Not exported. ${reason ?? ''} ${what}</p>`;
  return html`<div class="panel-error" role="alert">
    <p class="panel-title">${isAnyMade ? 'Not every type could be exported' : 'Trained; the export failed'}</p>
    ${reason === null ? nothing : html`<p class="wrap"><bdi>${reason}</bdi></p>`}
    ${advice === null ? nothing : html`<p class="wrap"><bdi>${advice}</bdi></p>`}
    <p>${what}</p>
  </div>`;
}

/** @param told a reason that is shown already. */
function fileView(file: ModelExport['files'][number], told: string | null): TemplateResult {
  const { quantization, state: made, bytes, verified } = file;
  const reason = file.reason === told ? null : file.reason;
  const checked = verified === null ? 'not compared' : verified ? 'verified' : 'not verified';
  const about = [checked, costWords(file), importanceText(file)].filter(Boolean).join(', ');
  return html`<li class="file">
    <span class="list-main">
      <span>${quantization}${info(quantization)}</span><small class="muted wrap"
        >${made === 'done' ? about : html`failed${reason === null ? nothing : html`: <bdi>${reason}</bdi>`}`}</small
      >
    </span>
    <span class="tabular">${bytes === null ? '' : formatBytes(bytes)}</span>
  </li>`;
}

/** What a type costs, by the loss on held-out rows; empty where that was not measured. */
function costWords({ loss_increase: cost }: ModelExport['files'][number]): string {
  if (cost === null) return '';
  return cost <= 0 ? 'costs nothing' : `costs ${formatPercent(cost, 2)}`;
}

/** What the costs mean, and how near each type is to the trained model otherwise. */
function costDetails({ files }: ModelExport): TemplateResult | typeof nothing {
  const measured = files.filter(({ loss_increase: cost, mean_kl: kl }) => cost !== null || kl !== null);
  if (measured.length === 0) return nothing;
  return html`<details class="fold bare">
    <summary>What the types cost</summary>
    <p class="note">
      The loss on held-out rows compared with that of the trained model in 32 bits, the mean KL divergence from its
      predictions, and how often the likeliest token is the same.
    </p>
    <dl class="figures-grid">
      ${measured.map(({ quantization, loss_increase: cost, mean_kl: kl, agreement }) =>
        figure(
          quantization,
          formatPercent(cost, 2),
          `KL ${formatNumber(kl, 2)}, ${formatPercent(agreement)} same`,
        ),
      )}
    </dl>
  </details>`;
}

/** The types that are ticked at first: those that failed, or the default ones if they are not there. */
function proposed({ files }: ModelExport, types: readonly Type[]): readonly Type[] {
  const failed = types.filter((type) =>
    files.some(({ quantization, state: made }) => quantization === type && made === 'failed'),
  );
  if (failed.length > 0) return failed;
  return types.filter(
    (type) => defaultQuantizations.includes(type) && files.every(({ quantization }) => quantization !== type),
  );
}

const namesOf = (types: readonly string[], forms: readonly ExportForm[]): string =>
  [...types, ...forms.map((form) => formWords[form])].join(', ');

/** "Export again" for types that were tried, else "Export to Q4_K_M". */
function exportWords({ files }: ModelExport, chosen: readonly Type[], forms: readonly ExportForm[]): string {
  if (chosen.length === 0 && forms.length === 0) return 'Export to…';
  const isAgain =
    forms.length === 0 && chosen.every((type) => files.some(({ quantization }) => quantization === type));
  return isAgain ? 'Export again' : `Export to ${namesOf(chosen, forms)}`;
}
