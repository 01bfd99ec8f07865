import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Ask } from '../../api/generate.ts';
import { service } from '../../api/service.ts';
import type { Lineage } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { models, router } from '../../state/app.ts';
import { Conversation } from '../../state/conversation.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { paced } from '../../state/pace.ts';
import { Watch } from '../../state/store.ts';
import { exchangeView } from './exchange-view.ts';
import { type Parameters, parameterDefaults, parameterFields } from './playground-parameters.ts';
import { asCurl, asPython } from './snippets.ts';
import { type Suggestion, suggestionsOf } from './suggestions.ts';

const questionTask = 'extractive-question-answering';

/** Closer to the end than this, the view follows new text. */
const nearPixels = 24;

/** Prompts a model, alone or next to its base model. */
@customElement('hone-playground')
export class Playground extends LitElement {
  @property() modelId = '';
  @state() private _parameters: Parameters = {
    ...parameterDefaults,
    ...readStored<Partial<Parameters>>('playground', {}),
  };
  @state() private _prompt = readStored('prompt', '');
  @state() private _context = readStored('context', '');
  @state() private _lineage: Lineage | null = null;
  @state() private _suggestions: readonly Suggestion[] = [];
  private _talk = new Conversation('');
  /** Narrow screens start with the parameters folded. */
  private readonly _isWide = matchMedia('(min-width: 64rem)').matches;
  private _unfollow: (() => void) | null = null;
  /** The maximum scroll position at the last update. */
  private _end = 0;
  private readonly _pace = paced(() => this.requestUpdate(), 30);

  constructor() {
    super();
    new Watch(this, models);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._leave();
  }

  protected override willUpdate(): void {
    const known = models.value.value;
    if (this.modelId === '' && known !== null && known.length > 0) {
      const last = readStored('playground-model', '');
      const model = known.find(({ model_id }) => model_id === last) ?? known[0];
      if (model) queueMicrotask(() => router.go(`/playground/${model.model_id}`, { replace: true }));
    }
    if (this.modelId !== this._talk.modelId) this._enter(this.modelId);
  }

  private _enter(modelId: string): void {
    this._leave();
    this._talk = new Conversation(modelId);
    this._end = 0;
    this._unfollow = this._talk.subscribe(() => this._pace.ask());
    this._lineage = null;
    if (modelId === '') return;
    writeStored('playground-model', modelId);
    this._suggestions = [];
    service
      .lineage(modelId)
      .then(async (lineage) => {
        if (modelId !== this.modelId) return;
        this._lineage = lineage;
        const { rows } = await service.dataset(lineage.dataset);
        if (modelId === this.modelId) this._suggestions = suggestionsOf(rows);
      })
      // No suggestions when the dataset was deleted.
      .catch(() => undefined);
  }

  /** Stops an answer that is no longer shown. */
  private _leave(): void {
    this._talk.stop();
    this._unfollow?.();
    this._unfollow = null;
    this._talk = new Conversation('');
  }

  protected override updated(): void {
    // Follows new text unless the user has scrolled up.
    const box = this.querySelector('.exchanges');
    if (box === null) return;
    const end = box.scrollHeight - box.clientHeight;
    if (end !== this._end && box.scrollTop >= this._end - nearPixels) box.scrollTop = end;
    this._end = end;
  }

  private get _isQuestion(): boolean {
    return this._model?.task === questionTask;
  }

  private get _model() {
    return models.value.value?.find(({ model_id }) => model_id === this.modelId);
  }

  /** Whether the model supports multi-turn conversations. */
  private get _canConverse(): boolean {
    return this._lineage?.chat_template === true;
  }

  private _set(part: Partial<Parameters>): void {
    this._parameters = { ...this._parameters, ...part };
    writeStored('playground', this._parameters);
  }

  private _fullPrompt(): string {
    if (!this._isQuestion) return this._prompt;
    // The question is the last paragraph, so it must not contain blank lines.
    return `${this._context.trim()}\n\n${this._prompt.trim().replace(/\s*\n\s*/g, ' ')}`;
  }

  private _ask(prompt: string, asBase: boolean): Ask {
    const { maxTokens, temperature, topP, conversation } = this._parameters;
    const before = conversation && this._canConverse ? this._talk.turns(asBase) : [];
    return {
      modelId: this.modelId,
      messages: [...before, { role: 'user', content: prompt }],
      maxTokens,
      temperature,
      topP,
      asBase,
    };
  }

  private _send(event?: Event): void {
    event?.preventDefault();
    if (this._talk.busy || this._prompt.trim() === '' || this.modelId === '') return;
    const prompt = this._fullPrompt();
    const base = this._parameters.compare ? this._ask(prompt, true) : null;
    void this._talk.send(prompt, this._ask(prompt, false), base);
  }

  private _key(event: KeyboardEvent): void {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      this._send();
    }
  }

  protected override render(): TemplateResult {
    const { value, error } = models.value;
    if (value === null) {
      return html`<div class="page">
        <h1>Playground</h1>
        ${error === null ? html`<section class="card tall">${skeleton(8)}</section>` : serviceErrorPanel('Could not load the models', error)}
      </div>`;
    }
    if (value.length === 0) {
      return html`<div class="page">
        <h1>Playground</h1>
        <section class="card">
          ${empty('No models yet', html`<a href="/training">Train one</a> to try it here.`)}
        </section>
      </div>`;
    }
    return html`<div class="page">
      <h1>Playground</h1>
      <div class="playground">
        <aside class="card column-narrow" aria-label="Model and parameters">${this._side()}</aside>
        <section class="card talk" aria-label="Conversation">
          ${
            this._model === undefined && this.modelId !== ''
              ? empty('Model not found', 'It may have been deleted. Choose another model.')
              : this._conversation()
          }
        </section>
      </div>
    </div>`;
  }

  private _side(): TemplateResult {
    return html`
      <div class="field">
        <label for="playground-model">Model</label>
        <select
          id="playground-model"
          .value=${this.modelId}
          @change=${(event: Event) => router.go(`/playground/${(event.target as HTMLSelectElement).value}`)}
        >
          ${this._model === undefined ? html`<option value=${this.modelId} selected>Choose a model…</option>` : nothing}
          ${keyedRow(
            models.value.value ?? [],
            ({ model_id }) => model_id,
            ({ model_id, name }) =>
              html`<option value=${model_id} ?selected=${model_id === this.modelId}>${name}</option>`,
          )}
        </select>
        ${this._model === undefined ? nothing : html`<a class="hint" href="/models/${this.modelId}">About this model</a>`}
      </div>
      <details class="fold bare parameters" ?open=${this._isWide}>
        <summary>Parameters</summary>
        <div class="column">
          ${parameterFields(this._parameters, this._canConverse, (part) => this._set(part))}
        </div>
      </details>
    `;
  }

  private _invitation(): TemplateResult {
    return empty(
      this._isQuestion
        ? 'Enter a context and a question about it'
        : 'Try a prompt similar to the training data',
      this._suggestions.length === 0
        ? 'Press Enter to send, Shift+Enter for a new line.'
        : html`<p>From the training data:</p>
            <ul class="suggestions">
              ${this._suggestions.map(
                ({ prompt, context }) => html`<li>
                  <button type="button" @click=${() => this._take(prompt, context)}>
                    <bdi class="wrap">${prompt}</bdi>
                  </button>
                </li>`,
              )}
            </ul>`,
    );
  }

  private _take(prompt: string, context: string): void {
    this._write(prompt);
    if (this._isQuestion) this._writeContext(context);
    this.querySelector<HTMLElement>('#prompt')?.focus();
  }

  private _write(prompt: string): void {
    this._prompt = prompt;
    writeStored('prompt', prompt.slice(0, 100_000));
  }

  private _writeContext(context: string): void {
    this._context = context;
    writeStored('context', context.slice(0, 100_000));
  }

  private _conversation(): TemplateResult {
    const ask = this._ask(this._fullPrompt(), false);
    return html`
      <div class="exchanges" tabindex="0" role="log" aria-label="Answers" aria-live="polite" aria-busy=${this._talk.busy}>
        ${
          this._talk.value.length === 0
            ? this._invitation()
            : keyedRow(
                this._talk.value,
                ({ id }) => id,
                (exchange) => exchangeView(exchange),
              )
        }
      </div>
      <form class="prompt" @submit=${this._send}>
        ${
          this._isQuestion
            ? html`<div class="field">
                <label for="context">Context</label>
                <textarea
                  id="context"
                  rows="5"
                  .value=${this._context}
                  @input=${(event: Event) => this._writeContext((event.target as HTMLTextAreaElement).value)}
                ></textarea>
              </div>`
            : nothing
        }
        <div class="field">
          <label for="prompt">${this._isQuestion ? 'Question' : 'Prompt'}</label>
          <textarea
            id="prompt"
            rows=${this._isQuestion ? 1 : 3}
            .value=${this._prompt}
            @keydown=${this._key}
            @input=${(event: Event) => this._write((event.target as HTMLTextAreaElement).value)}
          ></textarea>
        </div>
        <div class="row between wrap-row">
          <span class="row wrap-row">
            <hone-copy label="Copy as curl" .text=${asCurl(ask, location.origin)}></hone-copy>
            <hone-copy label="Copy as Python" .text=${asPython(ask, location.origin)}></hone-copy>
            ${
              this._talk.value.length === 0
                ? nothing
                : html`<button type="button" class="small" @click=${() => this._talk.clear()}>Clear</button>`
            }
          </span>
          ${
            this._talk.busy
              ? html`<button type="button" class="danger" @click=${() => this._talk.stop()}>Stop</button>`
              : html`<button type="submit" class="primary" ?disabled=${this._prompt.trim() === ''}>Ask</button>`
          }
        </div>
      </form>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-playground': Playground;
  }
}
