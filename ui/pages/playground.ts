import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';
import { type Answer, type Ask, generate, type Message } from '../api/generate.ts';
import type { ServiceError } from '../api/request.ts';
import { service } from '../api/service.ts';
import type { Lineage } from '../api/types.ts';
import { empty, serviceErrorPanel, skeleton } from '../elements/parts.ts';
import { formatCount, formatNumber } from '../format.ts';
import { models, router } from '../state/app.ts';
import { recall, remember } from '../state/memory.ts';
import { asServiceError } from '../state/remote.ts';
import { Watch } from '../state/store.ts';
import { asCurl, asPython } from './snippets.ts';

const questionTask = 'extractive-question-answering';
const exchangesKept = 50;

interface Parameters {
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP: number;
  readonly compare: boolean;
  readonly conversation: boolean;
}

const defaults: Parameters = {
  maxTokens: 256,
  temperature: 0.7,
  topP: 0.9,
  compare: false,
  conversation: false,
};

/** One side's answer to a prompt. */
interface Side {
  text: string;
  busy: boolean;
  answer: Answer | null;
  error: ServiceError | null;
  stopped: boolean;
}

interface Exchange {
  readonly id: number;
  readonly prompt: string;
  readonly tuned: Side;
  readonly base: Side | null;
}

/** Ask a model, alone or beside its base. */
@customElement('hone-playground')
export class Playground extends LitElement {
  @property() modelId = '';
  @state() private _parameters: Parameters = {
    ...defaults,
    ...recall<Partial<Parameters>>('playground', {}),
  };
  @state() private _prompt = recall('prompt', '');
  @state() private _context = recall('context', '');
  @state() private _lineage: Lineage | null = null;
  @state() private _busy = false;
  private _exchanges: Exchange[] = [];
  private _shownModel = '';
  private _next = 1;
  private _abort: AbortController | null = null;

  constructor() {
    super();
    new Watch(this, models);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    models.ensure();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._abort?.abort();
  }

  protected override willUpdate(): void {
    const known = models.value.value;
    if (this.modelId === '' && known !== null && known.length > 0) {
      const last = recall('playground-model', '');
      const model = known.find(({ model_id }) => model_id === last) ?? known[0];
      if (model) queueMicrotask(() => router.go(`/playground/${model.model_id}`, { replace: true }));
    }
    if (this.modelId !== this._shownModel) {
      this._shownModel = this.modelId;
      this._abort?.abort();
      this._exchanges = [];
      this._lineage = null;
      if (this.modelId !== '') {
        remember('playground-model', this.modelId);
        const asked = this.modelId;
        service.lineage(asked).then(
          (lineage) => {
            if (asked === this.modelId) this._lineage = lineage;
          },
          () => undefined,
        );
      }
    }
  }

  private get _isQuestion(): boolean {
    return this._model?.task === questionTask;
  }

  private get _model() {
    return models.value.value?.find(({ model_id }) => model_id === this.modelId);
  }

  /** Whether turns can build on one another. */
  private get _canConverse(): boolean {
    return this._lineage?.chat_template === true;
  }

  private _set(part: Partial<Parameters>): void {
    this._parameters = { ...this._parameters, ...part };
    remember('playground', this._parameters);
  }

  private _fullPrompt(): string {
    if (!this._isQuestion) return this._prompt;
    // The question is the last paragraph, so it has no paragraphs of its own.
    return `${this._context.trim()}\n\n${this._prompt.trim().replace(/\s*\n\s*/g, ' ')}`;
  }

  private _ask(prompt: string, asBase: boolean): Ask {
    const { maxTokens, temperature, topP, conversation } = this._parameters;
    const before: Message[] =
      conversation && this._canConverse && !asBase
        ? this._exchanges
            .filter(({ tuned }) => tuned.error === null && !tuned.busy)
            .flatMap(({ prompt: content, tuned }) => [
              { role: 'user' as const, content },
              { role: 'assistant' as const, content: tuned.text },
            ])
        : [];
    return {
      modelId: this.modelId,
      messages: [...before, { role: 'user', content: prompt }],
      maxTokens,
      temperature,
      topP,
      asBase,
    };
  }

  private async _send(event?: Event): Promise<void> {
    event?.preventDefault();
    const prompt = this._fullPrompt();
    if (this._busy || this._prompt.trim() === '' || this.modelId === '') return;
    this._busy = true;
    const abort = new AbortController();
    this._abort = abort;
    const fresh = (): Side => ({ text: '', busy: true, answer: null, error: null, stopped: false });
    const ask = this._ask(prompt, false);
    const exchange: Exchange = {
      id: this._next,
      prompt,
      tuned: fresh(),
      base: this._parameters.compare ? fresh() : null,
    };
    this._next += 1;
    this._exchanges = [...this._exchanges.slice(1 - exchangesKept), exchange];
    this.requestUpdate();
    await this._answer(exchange.tuned, ask, abort.signal);
    // One after the other: the same processor answers both, and their speeds stay comparable.
    if (exchange.base !== null) {
      if (abort.signal.aborted) Object.assign(exchange.base, { busy: false, stopped: true });
      else await this._answer(exchange.base, this._ask(prompt, true), abort.signal);
    }
    this._busy = false;
    this.requestUpdate();
  }

  private async _answer(side: Side, ask: Ask, signal: AbortSignal): Promise<void> {
    try {
      side.answer = await generate(
        ask,
        (delta) => {
          side.text += delta;
          this.requestUpdate();
        },
        signal,
      );
    } catch (error) {
      if (signal.aborted) side.stopped = true;
      else side.error = asServiceError(error);
    } finally {
      side.busy = false;
      this.requestUpdate();
    }
  }

  private _key(event: KeyboardEvent): void {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      void this._send();
    }
  }

  protected override render(): TemplateResult {
    const { value, error } = models.value;
    if (value === null) {
      return html`<div class="page">
        <h1>Playground</h1>
        ${error === null ? html`<section class="card tall">${skeleton(8)}</section>` : serviceErrorPanel('The models could not be read', error)}
      </div>`;
    }
    if (value.length === 0) {
      return html`<div class="page">
        <h1>Playground</h1>
        <section class="card">
          ${empty('No model to talk to yet', html`<a href="/training">Train one</a>, and ask it here.`)}
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
              ? empty('There is no such model', 'It may have been deleted. Choose another one.')
              : this._talk()
          }
        </section>
      </div>
    </div>`;
  }

  private _side(): TemplateResult {
    const { maxTokens, temperature, topP, compare, conversation } = this._parameters;
    return html`
      <div class="field">
        <label for="playground-model">Model</label>
        <select
          id="playground-model"
          .value=${this.modelId}
          @change=${(event: Event) => router.go(`/playground/${(event.target as HTMLSelectElement).value}`)}
        >
          ${this._model === undefined ? html`<option value=${this.modelId} selected>choose…</option>` : nothing}
          ${repeat(
            models.value.value ?? [],
            ({ model_id }) => model_id,
            ({ model_id, name }) =>
              html`<option value=${model_id} ?selected=${model_id === this.modelId}>${name}</option>`,
          )}
        </select>
        ${this._model === undefined ? nothing : html`<a class="hint" href="/models/${this.modelId}">About this model</a>`}
      </div>
      ${slider('Temperature', 'temperature', temperature, 0, 2, 0.05, '0 always takes the likeliest token.', (v) => this._set({ temperature: v }))}
      ${slider('Top-p', 'top-p', topP, 0.05, 1, 0.05, 'Chooses among the likeliest tokens that add up to this.', (v) => this._set({ topP: v }))}
      <div class="field">
        <label for="max-tokens">Longest answer</label>
        <input
          id="max-tokens"
          type="number"
          min="1"
          max="1048576"
          aria-describedby="max-tokens-hint"
          .value=${String(maxTokens)}
          @change=${(event: Event) => {
            const value = Math.round(Number((event.target as HTMLInputElement).value));
            this._set({ maxTokens: Math.min(1_048_576, Math.max(1, value || defaults.maxTokens)) });
          }}
        />
        <p class="hint" id="max-tokens-hint">Tokens, up to the model’s context.</p>
      </div>
      ${check('Beside the base model', compare, (on) => this._set({ compare: on }))}
      ${this._canConverse ? check('Remember the conversation', conversation, (on) => this._set({ conversation: on })) : nothing}
    `;
  }

  private _talk(): TemplateResult {
    const ask = this._ask(this._fullPrompt(), false);
    return html`
      <div class="exchanges" tabindex="0" role="log" aria-label="Answers" aria-live="polite" aria-busy=${this._busy}>
        ${
          this._exchanges.length === 0
            ? empty(
                this._isQuestion
                  ? 'Give a text and ask about it'
                  : 'Ask something like the inputs it was trained on',
                'Shift and Enter makes a new line.',
              )
            : repeat(
                this._exchanges,
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
                  @input=${(event: Event) => {
                    this._context = (event.target as HTMLTextAreaElement).value;
                    remember('context', this._context.slice(0, 100_000));
                  }}
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
            @input=${(event: Event) => {
              this._prompt = (event.target as HTMLTextAreaElement).value;
              remember('prompt', this._prompt.slice(0, 100_000));
            }}
          ></textarea>
        </div>
        <div class="row between wrap-row">
          <span class="row">
            <hone-copy label="Copy as curl" .text=${asCurl(ask, location.origin)}></hone-copy>
            <hone-copy label="Copy as Python" .text=${asPython(ask, location.origin)}></hone-copy>
          </span>
          ${
            this._busy
              ? html`<button type="button" class="danger" @click=${() => this._abort?.abort()}>Stop</button>`
              : html`<button type="submit" class="primary" ?disabled=${this._prompt.trim() === ''}>Ask</button>`
          }
        </div>
      </form>
    `;
  }
}

function exchangeView({ prompt, tuned, base }: Exchange): TemplateResult {
  return html`<article class="exchange">
    <p class="asked wrap"><bdi>${prompt}</bdi></p>
    <div class="sides" data-two=${base === null ? nothing : 'yes'}>
      ${sideView(base === null ? '' : 'Tuned', tuned)} ${base === null ? nothing : sideView('Base', base)}
    </div>
  </article>`;
}

/** How fast tokens came: where the first one's moment is known, those after it, without reading the prompt. */
function tokensPerSecond({ tokens, generationMs, firstTokenMs }: Answer): number | null {
  if (tokens === null || generationMs === null) return null;
  const [count, spanMs] =
    firstTokenMs === null ? [tokens, generationMs] : [tokens - 1, generationMs - firstTokenMs];
  return count > 0 && spanMs > 0 ? (count / spanMs) * 1000 : null;
}

function sideView(title: string, side: Side): TemplateResult {
  const { answer } = side;
  const speed = answer === null ? null : tokensPerSecond(answer);
  return html`<div class="answer">
    ${title === '' ? nothing : html`<p class="eyebrow">${title}</p>`}
    ${
      side.error === null
        ? html`<p class="wrap answer-text"><bdi>${side.text}</bdi>${side.busy ? html`<i class="caret" aria-hidden="true"></i>` : nothing}</p>`
        : serviceErrorPanel('There is no answer', side.error)
    }
    <p class="hint tabular">
      ${side.busy ? 'answering…' : nothing} ${side.stopped ? 'stopped' : nothing}
      ${side.text === '' && answer !== null ? 'an empty answer; ' : nothing}
      ${
        answer === null
          ? nothing
          : [
              answer.tokens === null ? null : `${formatCount(answer.tokens)} tokens`,
              speed === null ? null : `${formatNumber(speed, 3)} tokens/s`,
              answer.firstTokenMs === null ? null : `first after ${formatCount(answer.firstTokenMs)} ms`,
            ]
              .filter(Boolean)
              .join(' · ')
      }
    </p>
  </div>`;
}

function slider(
  name: string,
  id: string,
  value: number,
  min: number,
  max: number,
  step: number,
  hint: string,
  set: (value: number) => void,
): TemplateResult {
  return html`<div class="field">
    <label for=${id}>${name} <output class="tabular">${value.toFixed(2)}</output></label>
    <input
      id=${id}
      type="range"
      min=${min}
      max=${max}
      step=${step}
      aria-describedby="${id}-hint"
      .value=${String(value)}
      @input=${(event: Event) => set(Number((event.target as HTMLInputElement).value))}
    />
    <p class="hint" id="${id}-hint">${hint}</p>
  </div>`;
}

function check(name: string, on: boolean, set: (on: boolean) => void): TemplateResult {
  return html`<label class="check">
    <input
      type="checkbox"
      .checked=${on}
      @change=${(event: Event) => set((event.target as HTMLInputElement).checked)}
    />
    ${name}
  </label>`;
}
