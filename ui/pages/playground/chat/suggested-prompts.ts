import { html, type ReactiveControllerHost, type TemplateResult } from 'lit';
import { service } from '../../../api/service.ts';
import { empty } from '../../../elements/parts.ts';
import { datasets } from '../../../state/app.ts';
import { type Suggestion, suggestionsOf } from './suggestions.ts';

/** Prompts from the dataset that a model was trained on. */
export class SuggestedPrompts {
  readonly #host: ReactiveControllerHost;
  #dataset = '';
  #suggestions: readonly Suggestion[] = [];

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
  }

  /** Reads them from a dataset, unless they are. */
  async from(dataset: string): Promise<void> {
    if (dataset === this.#dataset) return;
    this.#dataset = dataset;
    this.#suggestions = [];
    if (dataset === '') return;
    if (datasets.value.value === null) await datasets.refresh();
    // No suggestions when the dataset was deleted.
    if (!datasets.value.value?.some(({ filename }) => filename === dataset)) return;
    const found = await service.dataset(dataset).catch(() => null);
    if (dataset !== this.#dataset) return;
    this.#suggestions = suggestionsOf(found?.rows ?? []);
    this.#host.requestUpdate();
  }

  /** What an empty chat shows. */
  invitation(isQuestion: boolean, take: (suggestion: Suggestion) => void): TemplateResult {
    return empty(
      isQuestion
        ? 'Enter a context and a question about it'
        : this.#dataset === ''
          ? 'Enter a prompt'
          : 'Try a prompt similar to the training data',
      this.#suggestions.length === 0
        ? 'Press Enter to send, Shift+Enter for a new line.'
        : html`<p>From the training data:</p>
            <ul class="suggestions">
              ${this.#suggestions.map(
                (suggestion) => html`<li>
                  <button type="button" @click=${() => take(suggestion)}>
                    <bdi class="wrap">${suggestion.prompt}</bdi>
                  </button>
                </li>`,
              )}
            </ul>`,
    );
  }
}
