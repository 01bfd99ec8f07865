import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { SettingName } from '../../../src/contract/settings.ts';
import type { FieldFault, ServiceError } from '../../api/request.ts';
import { service, type TrainingBody } from '../../api/service.ts';
import type { Estimate } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { figure, modelName, option, serviceErrorPanel } from '../../elements/parts.ts';
import { choices, currentJobId, datasets, info, jobs, router, settings } from '../../state/app.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { draft } from '../../state/drafts/draft.ts';
import { presetFacts } from '../../state/preset-facts.ts';
import { asServiceError } from '../../state/remote.ts';
import { isActive } from '../../state/runs/job-words.ts';
import { Watch } from '../../state/store.ts';
import './dataset-picker.ts';
import './draft-origin.ts';
import './estimate.ts';
import './model-picker.ts';
import './preset-picker.ts';
import { draftFaults, draftMissing, draftRequest } from '../../settings/draft-request.ts';
import { chooseTask } from '../../settings/fit-task.ts';
import { defaultSettings } from '../../settings/form-defaults.ts';
import { readSettings } from '../../settings/setting-values.ts';
import '../../settings/settings-form.ts';
import { LightElement } from '../../elements/light-element.ts';
import { sectionTabs } from '../../views/tabs/section-tabs.ts';

/** The form for a new training, and what it will take. */
@customElement('hone-training')
export class Training extends LightElement {
  @state() private _starting = false;
  @state() private _error: ServiceError | null = null;
  @state() private _estimate: Estimate | null = null;
  /** Why the model cannot be used; `null` unless its check says so. */
  @state() private _wrongModel: string | null = null;

  constructor() {
    super();
    new Watch(this, choices, draft, info, settings, datasets, jobs, currentJobId, presetFacts);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    info.ensure();
    settings.ensure();
    choices.ensure();
    void datasets.refresh();
  }

  private get _faults(): readonly FieldFault[] {
    const own = draftFaults();
    return [
      ...own,
      ...(this._error?.faults ?? []).filter(({ field }) => !own.some((o) => o.field === field)),
    ];
  }

  private async _start(): Promise<void> {
    if (this._starting || this._wrongModel !== null || draftMissing() !== null) return;
    this._starting = true;
    this._error = null;
    try {
      await presetFacts.ready();
      const { job_id } = await service.start({ ...draftRequest(), queue: this._active ? true : undefined });
      void jobs.refresh();
      router.go(`/training/${job_id}`);
    } catch (error) {
      this._error = asServiceError(error);
      await this.updateComplete;
      this.querySelector<HTMLElement>('[aria-invalid="true"], .plan .panel-error')?.scrollIntoView({
        block: 'center',
      });
    } finally {
      this._starting = false;
    }
  }

  protected override render(): TemplateResult {
    const faults = this._faults;
    return html`<div class="page">
      ${sectionTabs('Training')}
      <div class="page-head">
        <h1>New training</h1>
        <hone-draft-origin></hone-draft-origin>
      </div>
      <form class="training" novalidate @submit=${startNothing} @input=${this._edited}>
        <div class="column">
          <section class="card training-form" aria-labelledby="choices">
            <h2 id="choices" class="off-screen">Dataset, task, model and settings</h2>
            <hone-dataset-picker></hone-dataset-picker>
            ${this._task()}
            <hone-model-picker
              @checked=${({ detail }: CustomEvent<string | null>) => {
                this._wrongModel = detail;
              }}
            ></hone-model-picker>
            <hone-preset-picker></hone-preset-picker>
            <hone-settings-form .faults=${faults} .first=${this._method()}></hone-settings-form>
          </section>
        </div>
        ${this._plan(faults)}
      </form>
    </div>`;
  }

  /** Clears the service's errors as soon as the form is edited. */
  private _edited(): void {
    if (this._error !== null) this._error = null;
  }

  /** The job that is running or queued. */
  private get _active() {
    return jobs.value.value?.jobs.findLast((job) => isActive(job.state));
  }

  private _running(): TemplateResult | typeof nothing {
    const running = this._active;
    if (running === undefined) return nothing;
    return html`<p class="note" role="status">
      <a href="/training/${running.job_id}">${running.job_id}</a> is training ${modelName(running.model_name)}. New runs are queued behind it.
    </p>`;
  }

  private _task(): TemplateResult {
    const tasks = choices.value.value?.tasks ?? [];
    const known = tasks.find(({ name }) => name === draft.value.task);
    return html`<div class="form-row">
      <label for="task">Task</label>
      <div class="form-row-fields">
        <select
          id="task"
          aria-describedby="task-hint"
          @change=${(event: Event) => chooseTask((event.target as HTMLSelectElement).value)}
        >
          ${tasks.map(
            ({ name, label }) =>
              html`<option value=${name} .selected=${name === draft.value.task}>${label}</option>`,
          )}
        </select>
        <span class="hint" id="task-hint">${known?.description ?? nothing}</span>
      </div>
    </div>`;
  }

  private _method(): TemplateResult {
    const told = choices.value.value;
    const { task, strategy, provider } = draft.value;
    return html`<details class="fold">
      <summary>Method <span class="tag">${strategyName(strategy)}</span></summary>
      <h3 id="strategy">Strategy</h3>
      <div class="options" role="radiogroup" aria-labelledby="strategy">
        ${(told?.strategies ?? []).map(({ name, label, description, tasks }) =>
          option(
            'strategy',
            name,
            label,
            tasks.includes(task) ? description : `${tasks.map(taskName).join(', ')} only.`,
            strategy === name,
            () => draft.change({ strategy: name }),
            !tasks.includes(task),
          ),
        )}
      </div>
      <h3 id="provider">Provider</h3>
      <div class="options" role="radiogroup" aria-labelledby="provider">
        ${(told?.providers ?? []).map(({ name, label, description }) => {
          const availability = info.value.value?.availability.find((entry) => entry.provider === name);
          const possible = availability?.available ?? true;
          return option(
            'provider',
            name,
            label,
            possible ? description : (availability?.reason ?? 'Not available here.'),
            provider === name && possible,
            () => draft.change({ provider: name }),
            !possible,
          );
        })}
      </div>
    </details>`;
  }

  private _plan(faults: readonly FieldFault[]): TemplateResult {
    const { dataset, validationDataset } = draft.value;
    const rows = datasets.value.value?.find(({ filename }) => filename === dataset)?.num_examples ?? null;
    const incomplete = draftMissing();
    const missing = incomplete ?? this._wrongModel;
    const own = faults.filter((fault) => !(this._error?.faults ?? []).includes(fault));
    const body = incomplete === null && own.length === 0 ? draftRequest() : null;
    const heldOut = body === null ? null : (this._estimate?.steps?.held_out_rows ?? null);
    const training =
      rows === null || heldOut === null ? null : validationDataset === '' ? rows - heldOut : rows;
    return html`<aside class="plan card" aria-labelledby="plan">
      <h2 id="plan">Summary</h2>
      <dl class="facts">
        ${figure('Rows to train on', formatCount(training))} ${figure('Validation rows', formatCount(heldOut))}
        ${figure('Effective batch size', formatCount(this._value('per_device_train_batch_size', this._value('gradient_accumulation_steps', 1))))}
        ${figure('Steps', this._steps(body))}
      </dl>
      ${this._running()}
      <hone-estimate
        .body=${body}
        @estimated=${({ detail }: CustomEvent<Estimate | null>) => {
          this._estimate = detail;
        }}
      ></hone-estimate>
      ${this._error === null ? nothing : serviceErrorPanel('Could not start the training', this._error, this._next())}
      <button
        type="button"
        class="primary wide"
        ?disabled=${this._starting || missing !== null || own.length > 0}
        @click=${this._start}
      >
        ${this._starting ? 'Starting…' : this._active ? 'Add to the queue' : 'Start training'}
      </button>
      <p class="note" role="status">
        ${missing ?? (own.length > 0 ? own.map(({ message }) => message).join(' ') : 'You can close this page; training continues in the background.')}
      </p>
    </aside>`;
  }

  private _next(): TemplateResult | undefined {
    const running = this._active;
    return this._error?.status === 409 && running !== undefined
      ? html`<a href="/training/${running.job_id}">Go to ${running.job_id}</a>`
      : undefined;
  }

  /** A numeric setting's effective value, times a factor; `null` if unknown. */
  private _value(name: SettingName, factor: number | null = 1): number | null {
    const value = readSettings(draft.value, [name])[name] ?? defaultSettings()?.[name];
    if (draftFaults().some(({ field }) => field === name)) return null;
    return typeof value === 'number' && factor !== null ? value * factor : null;
  }

  /** The run's optimizer steps as counted by the service; packing makes fewer. */
  private _steps(body: TrainingBody | null): string {
    const steps = body === null ? null : (this._estimate?.steps ?? null);
    if (steps === null) return formatCount(null);
    const bound = steps.at_least ? (body?.packing ? 'about ' : 'at least ') : body?.packing ? 'at most ' : '';
    return `${bound}${formatCount(steps.total)}`;
  }
}

/** Enter in a field submits the form; only the button starts a training. */
const startNothing = (event: Event) => event.preventDefault();

declare global {
  interface HTMLElementTagNameMap {
    'hone-training': Training;
  }
}
