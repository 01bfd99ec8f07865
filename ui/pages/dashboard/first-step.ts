import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Example } from '../../api/types.ts';
import { LightElement } from '../../elements/light-element.ts';
import { modelName, serviceErrorPanel } from '../../elements/parts.ts';
import { choices, datasets, examples, router, toasts } from '../../state/app.ts';
import { strategyName, taskName } from '../../state/choice-words.ts';
import { asServiceError } from '../../state/remote.ts';
import { trafficPath } from '../../state/router.ts';
import { Watch } from '../../state/store.ts';

/** An example's task, or its strategy where that is not SFT. */
const exampleTitle = ({ task, strategy }: Example) =>
  strategy === 'sft' ? taskName(task) : `Preference tuning with ${strategyName(strategy)}`;

/** What a new user sees: train on an example with one click, or start with their own data. */
@customElement('hone-first-step')
export class FirstStep extends LightElement {
  /** The name of the example that is being started. */
  @state() private _starting: string | null = null;
  @state() private _error: ServiceError | null = null;

  constructor() {
    super();
    new Watch(this, choices, examples);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    examples.ensure();
  }

  protected override render(): TemplateResult {
    const [first, ...others] = examples.value.value ?? [];
    return html`<section class="card welcome" aria-labelledby="first">
      <p class="eyebrow">Get started</p>
      <h2 id="first">Train your own model</h2>
      <p class="lead">
        Give Hone examples of prompts and answers. It fine-tunes a small language model on this machine, compares it
        with the base model, and exports a single GGUF file.
      </p>
      ${this._error === null ? nothing : serviceErrorPanel('Could not start the example', this._error)}
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
        <a class="button ${first === undefined ? 'primary' : ''}" href="/training">Use your own data</a>
      </div>
      <p class="muted">
        No rows yet? <a href=${trafficPath()}>Keep the answers</a> that an application gets, correct them, and make rows of
        them.
      </p>
      ${
        first === undefined
          ? nothing
          : html`<p class="muted">
              ${first.num_examples.toLocaleString('en')} rows. ${first.sentence} Base model: ${modelName(first.model_name)}.
            </p>`
      }
      ${
        others.length === 0
          ? nothing
          : html`<h3>More examples</h3>
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
      toasts.show('Could not start the example.', 'error');
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

/** Adds an example to the datasets and starts training on it. @returns the job's id. */
async function trainOn({ name, task, strategy, model_name, settings }: Example): Promise<string> {
  const { filename } = await service.useExample(name);
  void datasets.refresh();
  return (await service.start({ task, strategy, model_name, dataset: filename, ...settings })).job_id;
}
