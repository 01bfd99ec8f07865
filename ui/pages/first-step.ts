import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../api/request.ts';
import { service } from '../api/service.ts';
import type { Example } from '../api/types.ts';
import { modelName, serviceErrorPanel } from '../elements/parts.ts';
import { datasets, examples, router, toasts } from '../state/app.ts';
import { strategyName, taskName } from '../state/job-words.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';

/** What an example teaches: its task, or a strategy of its own. */
const exampleTitle = ({ task, strategy }: Example) =>
  strategy === 'sft' ? taskName(task) : `Preferences, with ${strategyName(strategy)}`;

/** What a newcomer can do first: train on an example with one click, or bring own data. */
@customElement('hone-first-step')
export class FirstStep extends LitElement {
  /** The example that is being started, by its name. */
  @state() private _starting: string | null = null;
  @state() private _error: ServiceError | null = null;

  constructor() {
    super();
    new Watch(this, examples);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    examples.ensure();
  }

  protected override render(): TemplateResult {
    const [first, ...others] = examples.value.value ?? [];
    return html`<section class="card welcome" aria-labelledby="first">
      <p class="eyebrow">First step</p>
      <h2 id="first">Train a model of your own</h2>
      <p class="lead">
        Give Hone examples of what to answer. It tunes a small language model on this machine, checks the
        result against the original, and hands you one file that runs anywhere.
      </p>
      ${this._error === null ? nothing : serviceErrorPanel('The example could not be started', this._error)}
      <div class="row wrap-row">
        ${
          first === undefined
            ? nothing
            : html`<button
                class="primary"
                type="button"
                ?disabled=${this._starting !== null}
                @click=${() => this._startExample(first)}
              >
                ${this._starting === first.name ? 'Starting…' : 'Train on the example'}
              </button>`
        }
        <a class="button ${first === undefined ? 'primary' : ''}" href="/training">Bring your own data</a>
      </div>
      ${
        first === undefined
          ? nothing
          : html`<p class="muted">
              ${first.num_examples.toLocaleString('en')} rows. ${first.sentence} The base is
              ${modelName(first.model_name)}.
            </p>`
      }
      ${
        others.length === 0
          ? nothing
          : html`<h3>Or begin with another</h3>
              <ul class="list">
                ${others.map((example) => this._other(example))}
              </ul>`
      }
    </section>`;
  }

  private _other(example: Example): TemplateResult {
    return html`<li class="example">
      <span class="list-main">
        <b>${exampleTitle(example)}</b>
        <small class="muted">${example.sentence} ${example.num_examples.toLocaleString('en')} rows.</small>
      </span>
      <button type="button" class="small" ?disabled=${this._starting !== null} @click=${() => this._startExample(example)}>
        ${this._starting === example.name ? 'Starting…' : 'Train'}<span class="off-screen"> on ${example.name}</span>
      </button>
    </li>`;
  }

  private async _startExample(example: Example): Promise<void> {
    if (this._starting !== null) return;
    this._starting = example.name;
    this._error = null;
    try {
      router.go(`/training/${await trainOn(example)}`);
    } catch (error) {
      this._error = asServiceError(error);
      toasts.show('The example could not be started.', 'error');
    } finally {
      this._starting = null;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-first-step': FirstStep;
  }
}

/** Puts an example among the datasets and starts a training on it. @returns the job's id. */
async function trainOn({ name, task, strategy, model_name, settings }: Example): Promise<string> {
  const { filename } = await service.useExample(name);
  void datasets.refresh();
  return (await service.start({ task, strategy, model_name, dataset: filename, ...settings })).job_id;
}
