import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Ask } from '../../api/generate.ts';
import { service } from '../../api/service.ts';
import { keyedRow } from '../../elements/child.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, serviceErrorPanel } from '../../elements/parts.ts';
import { datasets } from '../../state/app.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { type Chat, chatsOf, newChatId, openChatId, rememberOpen } from '../../state/playground/chats.ts';
import { type Asked, Conversation } from '../../state/playground/conversation.ts';
import type { Exchange } from '../../state/playground/exchange.ts';
import { paced } from '../../state/runs/pace.ts';
import { isKeyNeeded, session } from '../../state/session.ts';
import { Watch } from '../../state/store.ts';
import { asCurl, asJavaScript, asPython } from '../../views/api-snippets.ts';
import { type AnswererSide, answererFields, answererName, firstWords } from './answerer.ts';
import { chatBar } from './chat-bar.ts';
import { exchangeView } from './exchange-view.ts';
import {
  type Parameters,
  parameterDefaults,
  raisedLimit,
  samplingFields,
  systemMessage,
} from './playground-parameters.ts';
import { promptEditor } from './prompt-editor.ts';
import { type Suggestion, suggestionsOf } from './suggestions.ts';

/** Closer to the end than this, the view follows new text. */
const nearPixels = 24;
const keptCharacters = 100_000;

const textOf = (event: Event) => (event.target as HTMLTextAreaElement).value;

/** The chats with a model: the open one with its prompts and answers, and the field for the next prompt. */
@customElement('hone-chat')
export class ChatView extends LightElement {
  @property() modelId = '';
  /** What answers. */
  @property({ attribute: false }) sides: readonly AnswererSide[] = [];
  @property({ attribute: false }) parameters: Parameters = parameterDefaults;
  /** Whether a prompt is a question about a text. */
  @property({ attribute: false }) isQuestion = false;
  @state() private _prompt = readStored('prompt', '');
  @state() private _context = readStored('context', '');
  @state() private _suggestions: readonly Suggestion[] = [];
  @state() private _chats: readonly Chat[] = [];
  /** The exchange whose prompt is edited, and its text. */
  @state() private _edited: { readonly id: number; readonly text: string } | null = null;
  /** Whether the prompt is sent as soon as the models are known. */
  private _isSendWaiting = false;
  /** The place of the prompt that was recalled. */
  private _recalled = 0;
  /** The dataset that the suggestions are from. */
  private _dataset = '';
  private _talk = new Conversation('', '');
  private _unfollow: (() => void) | null = null;
  /** The maximum scroll position at the last update. */
  private _end = 0;
  private readonly _pace = paced(() => this.requestUpdate(), 30);
  private readonly _onHide = () => this._talk.remember();

  constructor() {
    super();
    new Watch(this, session);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener('pagehide', this._onHide);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener('pagehide', this._onHide);
    this._leave();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (this.modelId !== this._talk.modelId) this._openChat(openChatId(this.modelId));
    const dataset = this.sides[0]?.facts?.dataset ?? '';
    if (changed.has('sides') && dataset !== this._dataset) void this._suggest(dataset);
    if (this._isSendWaiting && this._isKnown) this._sendPrompt();
  }

  private async _suggest(dataset: string): Promise<void> {
    this._dataset = dataset;
    this._suggestions = [];
    if (dataset === '') return;
    if (datasets.value.value === null) await datasets.refresh();
    // No suggestions when the dataset was deleted.
    if (!datasets.value.value?.some(({ filename }) => filename === dataset)) return;
    const found = await service.dataset(dataset).catch(() => null);
    if (dataset === this._dataset) this._suggestions = suggestionsOf(found?.rows ?? []);
  }

  private _openChat(id: string): void {
    this._leave();
    this._talk = new Conversation(this.modelId, id);
    this._unfollow = this._talk.subscribe(() => this._pace.ask());
    this._chats = chatsOf(this.modelId);
    this._edited = null;
    this._end = 0;
    rememberOpen(this.modelId, id);
    this.requestUpdate();
  }

  /** Stops an answer that is no longer shown. */
  private _leave(): void {
    this._talk.stop();
    this._unfollow?.();
    this._unfollow = null;
    this._talk = new Conversation('', '');
  }

  protected override updated(): void {
    // Follows new text unless the user has scrolled up.
    const box = this.querySelector('.exchanges');
    if (box === null) return;
    const end = box.scrollHeight - box.clientHeight;
    if (end !== this._end && box.scrollTop >= this._end - nearPixels) box.scrollTop = end;
    this._end = end;
  }

  private get _isKnown(): boolean {
    return this.sides.every(({ facts }) => facts !== null);
  }

  /** Whether some side has the messages before a prompt sent with it. */
  private get _remembers(): boolean {
    return this.parameters.memory && this.sides.some(({ facts }) => facts?.hasChatTemplate);
  }

  private _fullPrompt(): string {
    if (!this.isQuestion) return this._prompt;
    // The question is the last paragraph, so it must not contain blank lines.
    return `${this._context.trim()}\n\n${this._prompt.trim().replace(/\s*\n\s*/g, ' ')}`;
  }

  /** The requests for a prompt, as far as the models are known. @param count how many exchanges are before it. */
  private _asked(prompt: string, count: number): Asked[] {
    return this.sides.flatMap(({ answerer, facts }, side) => {
      if (facts === null) return [];
      const converses = facts.hasChatTemplate;
      const ask: Ask = {
        ...answererFields(facts, answerer),
        messages: [
          ...(converses ? systemMessage(this.parameters) : []),
          ...(converses && this.parameters.memory ? this._talk.turns(side, count) : []),
          { role: 'user', content: prompt },
        ],
        ...samplingFields(this.parameters),
      };
      return [{ name: answererName(facts, answerer), first: firstWords(facts, answerer), ask }];
    });
  }

  private _send(event: Event): void {
    event.preventDefault();
    // What is known about the models says what is sent.
    this._isSendWaiting = !this._isKnown;
    if (this._isKnown) this._sendPrompt();
  }

  private _sendPrompt(): void {
    this._isSendWaiting = false;
    if (this._prompt.trim() === '') return;
    if (this._answer(this._fullPrompt(), this._talk.value.length)) this._write('');
  }

  /**
   * Has a prompt answered at a place of the conversation. What was said after it belongs to the conversation and goes,
   * unless each prompt stands alone.
   * @returns whether it was sent.
   */
  private _answer(prompt: string, place: number): boolean {
    const asked = this._asked(prompt, place);
    if (this._talk.busy || !this._isKnown) return false;
    const { value } = this._talk;
    this._edited = null;
    const after = this._remembers ? [] : value.slice(place + 1);
    const done = this._talk.send(prompt, asked, [value.slice(0, place), after]);
    const list = () => {
      this._chats = chatsOf(this.modelId);
    };
    list();
    void done.then(list);
    // The control that was used may be gone while the answer is generated.
    this._focus('#prompt');
    return true;
  }

  /** Has a prompt answered with twice as many new tokens, which stay the limit; fires `raise` with it. */
  private _raise(prompt: string, place: number): void {
    const maxTokens = raisedLimit(this.parameters);
    this.parameters = { ...this.parameters, maxTokens };
    this.dispatchEvent(new CustomEvent('raise', { detail: maxTokens }));
    this._answer(prompt, place);
  }

  private _stop(): void {
    this._talk.stop();
    this._focus('#prompt');
  }

  private _key(event: KeyboardEvent): void {
    if (event.isComposing || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter') this._send(event);
    else if (event.key === 'ArrowUp') this._recall(event, -1);
    else if (event.key === 'ArrowDown') this._recall(event, 1);
  }

  /** Goes through the prompts of the chat, from an empty field or from one of them. */
  private _recall(event: KeyboardEvent, by: -1 | 1): void {
    const prompts = this._talk.value.map(({ prompt }) =>
      this.isQuestion ? (prompt.split('\n\n').at(-1) ?? '') : prompt,
    );
    if (this._prompt === '') this._recalled = prompts.length;
    else if (this._prompt !== prompts[this._recalled]) return;
    const next = this._recalled + by;
    if (next < 0 || next > prompts.length) return;
    event.preventDefault();
    this._recalled = next;
    this._write(prompts[next] ?? '');
  }

  private _focus(selector: string): void {
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(selector)?.focus());
  }

  private _write(prompt: string): void {
    this._prompt = prompt;
    writeStored('prompt', prompt.slice(0, keptCharacters));
  }

  private _writeContext(context: string): void {
    this._context = context;
    writeStored('context', context.slice(0, keptCharacters));
  }

  protected override render(): TemplateResult {
    const { value, busy, chatId } = this._talk;
    const error = this.sides.find((side) => side.error !== null)?.error ?? null;
    const open = (id: string | null) => {
      this._openChat(id ?? newChatId());
      this._focus('#prompt');
    };
    return html`
      ${chatBar({
        chats: this._chats,
        openId: chatId,
        isEmpty: value.length === 0,
        open,
        remove: () => {
          this._talk.delete();
          open(null);
        },
      })}
      <div class="exchanges" tabindex="0" role="log" aria-label="Answers" aria-live="polite" aria-busy=${busy}>
        ${
          value.length === 0
            ? this._invitation()
            : keyedRow(
                value.map((exchange, index) => ({ exchange, index })),
                ({ exchange }) => exchange.id,
                ({ exchange, index }) => this._exchange(exchange, index),
              )
        }
      </div>
      <form class="prompt" @submit=${this._send}>
        ${error === null ? nothing : serviceErrorPanel('Could not load the model', error)} ${this._aloneHint()}
        ${this._fields()}
        <div class="row between wrap-row">
          <span class="row wrap-row">${this._snippets()}</span>
          ${
            busy
              ? html`<button type="button" class="danger" @click=${this._stop}>Stop</button>`
              : html`<button type="submit" class="primary" ?disabled=${this._prompt.trim() === ''}>Send</button>`
          }
        </div>
      </form>
    `;
  }

  private _fields(): TemplateResult {
    return html`${
      this.isQuestion
        ? html`<div class="field">
            <label for="context">Context</label>
            <textarea
              id="context"
              rows="5"
              .value=${this._context}
              @input=${(event: Event) => this._writeContext(textOf(event))}
            ></textarea>
          </div>`
        : nothing
    }
    <div class="field">
      <label for="prompt">${this.isQuestion ? 'Question' : 'Prompt'}</label>
      <textarea
        id="prompt"
        rows=${this.isQuestion ? 1 : 3}
        .value=${this._prompt}
        @keydown=${this._key}
        @input=${(event: Event) => this._write(textOf(event))}
      ></textarea>
    </div>`;
  }

  private _invitation(): TemplateResult {
    const take = ({ prompt, context }: Suggestion) => {
      this._write(prompt);
      if (this.isQuestion) this._writeContext(context);
      this._focus('#prompt');
    };
    return empty(
      this.isQuestion
        ? 'Enter a context and a question about it'
        : 'Try a prompt similar to the training data',
      this._suggestions.length === 0
        ? 'Press Enter to send, Shift+Enter for a new line.'
        : html`<p>From the training data:</p>
            <ul class="suggestions">
              ${this._suggestions.map(
                (suggestion) => html`<li>
                  <button type="button" @click=${() => take(suggestion)}>
                    <bdi class="wrap">${suggestion.prompt}</bdi>
                  </button>
                </li>`,
              )}
            </ul>`,
    );
  }

  private _exchange(exchange: Exchange, index: number): TemplateResult {
    const { busy, value } = this._talk;
    const { id, prompt } = exchange;
    const isLast = index === value.length - 1;
    const edit = () => {
      this._edited = { id, text: prompt };
      this._focus('#edited');
    };
    const leave = () => {
      this._edited = null;
      this._focus('#prompt');
    };
    const text = this._edited?.id === id ? this._edited.text : null;
    return exchangeView(
      exchange,
      {
        edit: busy ? null : edit,
        regenerate: busy || (this._remembers && !isLast) ? null : () => this._answer(prompt, index),
        raise: busy || (this._remembers && !isLast) ? null : () => this._raise(prompt, index),
      },
      text === null
        ? null
        : promptEditor({
            text,
            leave,
            isBusy: busy,
            cutsOff: this._remembers && !isLast,
            write: (changed) => {
              this._edited = { id, text: changed };
            },
            send: () => this._answer(text, index),
          }),
    );
  }

  /** Says if a prompt is sent without those before it. */
  private _aloneHint(): TemplateResult | typeof nothing {
    if (this._remembers || !this._isKnown) return nothing;
    const hasTemplate = this.sides.some(({ facts }) => facts?.hasChatTemplate);
    return html`<p class="hint">
      ${
        hasTemplate
          ? 'The conversation is not remembered: each prompt stands alone.'
          : 'This model has no chat template: each prompt stands alone.'
      }
    </p>`;
  }

  /** The request as code: that of the prompt, or the last one if the field is empty. */
  private _snippets(): TemplateResult | typeof nothing {
    const { value } = this._talk;
    const isNew = this._prompt !== '' || value.length === 0;
    const [asked] = isNew
      ? this._asked(this._fullPrompt(), value.length)
      : this._asked(value.at(-1)?.prompt ?? '', value.length - 1);
    if (asked === undefined) return nothing;
    const options = { origin: location.origin, needsKey: isKeyNeeded() };
    return html`
      <hone-copy label="Copy as curl" .text=${asCurl(asked.ask, options)}></hone-copy>
      <hone-copy label="Copy as Python" .text=${asPython(asked.ask, options)}></hone-copy>
      <hone-copy label="Copy as JavaScript" .text=${asJavaScript(asked.ask, options)}></hone-copy>
    `;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-chat': ChatView;
  }
}
