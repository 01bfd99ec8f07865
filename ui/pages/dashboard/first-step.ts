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

/** A way to rows: what they come from, and what leads there. */
const way = (
  name: string,
  words: string | TemplateResult,
  action: TemplateResult,
): TemplateResult => html`<li class="example">
  <span class="list-main"><b>${name}</b><small class="muted">${words}</small></span>
  ${action}
</li>`;

/** What a new user sees: where rows come from, and an example that is trained on with one click. */
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
      <h3>Where your rows come from</h3>
      <ul class="list">
        ${way(
          'Documents',
          'A model writes rows about PDF, Word, HTML and text files, each with the quotation that it rests on.',
          html`<a class="button" href="/datasets/documents">Make rows of documents</a>`,
        )}
        ${way(
          'Traffic',
          'Answers that your application gets through Hone are kept, corrected and made rows of.',
          html`<a class="button" href=${trafficPath()}>Keep the answers</a>`,
        )}
        ${way(
          'Import',
          'JSON Lines, CSV, JSON, Parquet and Arrow files, and datasets of the hub.',
          html`<a class="button ${first === undefined ? 'primary' : ''}" href="/training">Use your own data</a>`,
        )}
        ${
          first === undefined
            ? nothing
            : way(
                'Example',
                html`${first.num_examples.toLocaleString('en')} rows. ${first.sentence} Base model: ${modelName(first.model_name)}.`,
                html`<button
                  class="primary"
                  type="button"
                  ?disabled=${this._starting !== null}
                  @click=${() => this._startExample(first)}
                >
                  ${this._starting === first.name ? 'Starting…' : 'Train on the example'}
                </button>`,
              )
        }
      </ul>
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
