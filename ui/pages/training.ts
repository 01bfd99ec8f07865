import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { FieldFault, ServiceError } from '../api/request.ts';
import { service, type TrainingBody } from '../api/service.ts';
import { modelName, nameText, option, serviceErrorPanel } from '../elements/parts.ts';
import { formatCount } from '../format.ts';
import { currentJobId, datasets, info, jobs, router, settings } from '../state/app.ts';
import { draft, preferenceStrategies } from '../state/draft.ts';
import { isActive, strategyName, taskName } from '../state/job-words.ts';
import { asServiceError } from '../state/remote.ts';
import { shapeFields, shapeFor } from '../state/row-shapes.ts';
import { Watch } from '../state/store.ts';
import './dataset-picker.ts';
import './estimate.ts';
import './model-picker.ts';
import { readSetting, readSettings, settingField } from './setting-values.ts';
import './settings-form.ts';
import { trainingTabs } from './training-tabs.ts';

const taskSentences: Readonly<Record<string, string>> = {
  'text-generation': 'An input, an answer: replies, labels, rewriting, extraction.',
  summarization: 'A long text, a short one.',
  'extractive-question-answering': 'A context and a question, an answer from the context.',
};

const strategySentences: Readonly<Record<string, string>> = {
  sft: 'Learns to answer as your rows do. The right one to begin with.',
  qlora: 'The same, with the base model in 4 bits: far less memory.',
  dpo: 'Learns from pairs of a better and a worse answer.',
  rlhf: 'Trains a reward model on your pairs, then the model against it.',
};

const providerSentences: Readonly<Record<string, string>> = {
  standard: 'Works on every platform and with every model of the hub.',
  accelerated: 'About twice as fast with a fifth less memory, for common architectures on an NVIDIA GPU.',
};

/** Strategies that learn from preferences train text generation alone. */
const fits = (strategy: string, task: string) =>
  !preferenceStrategies.includes(strategy) || task === 'text-generation';

/** From a task to a start, in four steps on one page. */
@customElement('hone-training')
export class Training extends LitElement {
  @state() private _starting = false;
  @state() private _error: ServiceError | null = null;

  constructor() {
    super();
    new Watch(this, draft, info, settings, datasets, jobs, currentJobId);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    info.ensure();
    settings.ensure();
    void datasets.refresh();
  }

  private get _faults(): readonly FieldFault[] {
    const own = Object.entries(draft.value.settings).flatMap(([name, text]) => {
      const field = settingField(name, draft.value.strategy);
      const read = field === undefined ? null : readSetting(field, text);
      return read !== null && 'fault' in read ? [{ field: name, message: read.fault }] : [];
    });
    return [
      ...own,
      ...(this._error?.faults ?? []).filter(({ field }) => !own.some((o) => o.field === field)),
    ];
  }

  /** The request that the form stands for. */
  private get _body(): TrainingBody {
    const { task, model, dataset, provider, strategy, quantizations } = draft.value;
    return {
      ...readSettings(draft.value),
      task,
      model_name: model.trim(),
      dataset,
      provider,
      strategy,
      export: quantizations.length === 0 ? 'none' : { quantizations: [...quantizations] },
    };
  }

  private get _missing(): string | null {
    const { model, dataset } = draft.value;
    if (model.trim() === '') return 'Choose a model.';
    if (dataset === '') return 'Choose a dataset.';
    const known = datasets.value.value?.find(({ filename }) => filename === dataset);
    const wanted = shapeFor(draft.value);
    if (known?.valid === false) return 'The dataset has faults. Correct it, or choose another.';
    if (known !== undefined && known.shape !== null && known.shape !== wanted) {
      return `This task and strategy need rows with ${shapeFields(wanted)}; the dataset’s have ${shapeFields(known.shape)}.`;
    }
    return null;
  }

  private async _start(event: Event): Promise<void> {
    event.preventDefault();
    if (this._starting || this._missing !== null) return;
    this._starting = true;
    this._error = null;
    try {
      const { job_id } = await service.start({ ...this._body, ...(this._active ? { queue: true } : {}) });
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
      ${trainingTabs('/training')}
      <h1>New training</h1>
      <form class="training" novalidate @submit=${this._start} @input=${this._edited}>
        <div class="column">
          ${this._task()}
          <section class="card" aria-labelledby="step-model">
            <h2 id="step-model"><span class="step-number">2</span> Model</h2>
            <hone-model-picker></hone-model-picker>
          </section>
          <section class="card" aria-labelledby="step-dataset">
            <h2 id="step-dataset"><span class="step-number">3</span> Dataset</h2>
            <hone-dataset-picker></hone-dataset-picker>
          </section>
          <section class="card" aria-labelledby="step-settings">
            <h2 id="step-settings"><span class="step-number">4</span> Settings</h2>
            ${this._method()}
            <hone-settings-form .faults=${faults}></hone-settings-form>
          </section>
        </div>
        ${this._plan(faults)}
      </form>
    </div>`;
  }

  /** What the service refused is forgotten once it is being corrected. */
  private _edited(): void {
    if (this._error !== null) this._error = null;
  }

  /** The job that has the machine, or waits for it. */
  private get _active() {
    return jobs.value.value?.jobs.findLast((job) => isActive(job.state));
  }

  private _running(): TemplateResult | typeof nothing {
    const running = this._active;
    if (running === undefined) return nothing;
    return html`<p class="note" role="status">
      <a href="/training/${running.job_id}">${running.job_id}</a> is training ${modelName(running.model_name)}. What
      you start now waits in the queue behind it.
    </p>`;
  }

  private _task(): TemplateResult {
    const tasks = info.value.value?.tasks ?? Object.keys(taskSentences);
    return html`<section class="card" aria-labelledby="step-task">
      <h2 id="step-task"><span class="step-number">1</span> Task</h2>
      <div class="options" role="radiogroup" aria-labelledby="step-task">
        ${tasks.map((task) =>
          option('task', task, taskName(task), taskSentences[task] ?? '', draft.value.task === task, () =>
            draft.change({
              task,
              ...(draft.value.custom ? {} : { model: '' }),
              ...(fits(draft.value.strategy, task) ? {} : { strategy: 'sft' }),
            }),
          ),
        )}
      </div>
    </section>`;
  }

  private _method(): TemplateResult {
    const known = info.value.value;
    const { task, strategy, provider } = draft.value;
    return html`
      <h3 id="strategy">Strategy</h3>
      <div class="options" role="radiogroup" aria-labelledby="strategy">
        ${(known?.strategies ?? ['sft']).map((name) =>
          option(
            'strategy',
            name,
            strategyName(name),
            fits(name, task) ? (strategySentences[name] ?? '') : 'For text generation alone.',
            strategy === name,
            () => draft.change({ strategy: name }),
            !fits(name, task),
          ),
        )}
      </div>
      <h3 id="provider">Provider</h3>
      <div class="options" role="radiogroup" aria-labelledby="provider">
        ${(known?.providers ?? ['standard']).map((name) => {
          const availability = known?.availability.find((entry) => entry.provider === name);
          const possible = availability?.available ?? true;
          return option(
            'provider',
            name,
            name[0]?.toUpperCase() + name.slice(1),
            possible ? (providerSentences[name] ?? '') : (availability?.reason ?? 'Not available here.'),
            provider === name && possible,
            () => draft.change({ provider: name }),
            !possible,
          );
        })}
      </div>
    `;
  }

  private _plan(faults: readonly FieldFault[]): TemplateResult {
    const { task, model, dataset } = draft.value;
    const rows = datasets.value.value?.find(({ filename }) => filename === dataset)?.num_examples ?? null;
    const missing = this._missing;
    const own = faults.filter((fault) => !(this._error?.faults ?? []).includes(fault));
    return html`<aside class="plan card" aria-labelledby="plan">
      <h2 id="plan">What will happen</h2>
      <dl class="facts">
        <div class="figure"><dt>Task</dt><dd>${taskName(task)}</dd></div>
        <div class="figure"><dt>Model</dt><dd>${model === '' ? '–' : modelName(model)}</dd></div>
        <div class="figure">
          <dt>Dataset</dt>
          <dd>${dataset === '' ? '–' : nameText(dataset)}</dd>
        </div>
        <div class="figure"><dt>Rows</dt><dd>${formatCount(rows)}</dd></div>
        <div class="figure"><dt>Rows a step</dt><dd>${formatCount(this._value('per_device_train_batch_size', this._value('gradient_accumulation_steps', 1)))}</dd></div>
        <div class="figure"><dt>Steps</dt><dd>${formatCount(this._steps(rows))}</dd></div>
      </dl>
      ${this._running()}
      <hone-estimate .body=${missing === null && own.length === 0 ? this._body : null}></hone-estimate>
      ${this._error === null ? nothing : serviceErrorPanel('The training was not started', this._error, this._next())}
      <button class="primary wide" type="submit" ?disabled=${this._starting || missing !== null || own.length > 0}>
        ${this._starting ? 'Starting…' : this._active ? 'Add to the queue' : 'Start training'}
      </button>
      <p class="note" role="status">
        ${missing ?? (own.length > 0 ? own.map(({ message }) => message).join(' ') : 'You can close this page while it trains.')}
      </p>
    </aside>`;
  }

  private _next(): TemplateResult | undefined {
    const running = this._active;
    return this._error?.status === 409 && running !== undefined
      ? html`<a href="/training/${running.job_id}">Go to ${running.job_id}</a>`
      : undefined;
  }

  /** A numeric setting as it would be used, times a factor; `null` where it is not known. */
  private _value(name: string, factor: number | null = 1): number | null {
    const text = draft.value.settings[name];
    const field = settingField(name, draft.value.strategy);
    const read = text === undefined || field === undefined ? null : readSetting(field, text);
    const value =
      read !== null && 'value' in read && typeof read.value === 'number'
        ? read.value
        : settings.value.value?.[name];
    return typeof value === 'number' && factor !== null ? value * factor : null;
  }

  /** Optimizer steps of the run, as the training library counts them. */
  private _steps(rows: number | null): number | null {
    const limit = this._value('max_steps') ?? -1;
    if (limit > 0) return limit;
    const [batch, accumulation, epochs] = [
      this._value('per_device_train_batch_size'),
      this._value('gradient_accumulation_steps'),
      this._value('num_train_epochs'),
    ];
    if (rows === null || !batch || !accumulation || !epochs) return null;
    const trained = rows - Math.ceil(rows * (this._value('eval_split') ?? 0));
    return Math.ceil(epochs * Math.ceil(Math.ceil(trained / batch) / accumulation));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-training': Training;
  }
}
