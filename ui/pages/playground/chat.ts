import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Ask } from '../../api/generate.ts';
import { service } from '../../api/service.ts';
import { keyedRow } from '../../elements/child.ts';
import { download, fileNameOf } from '../../elements/download.ts';
import { LightElement } from '../../elements/light-element.ts';
import { empty, serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { datasets, toasts } from '../../state/app.ts';
import { readStored, writeStored } from '../../state/local-storage.ts';
import { ChatList } from '../../state/playground/chat-list.ts';
import { newId, openChatId, rememberOpen } from '../../state/playground/chats.ts';
import { type Asked, Conversation } from '../../state/playground/conversation.ts';
import type { Exchange, Side } from '../../state/playground/exchange.ts';
import { asServiceError } from '../../state/remote.ts';
import { paced } from '../../state/runs/pace.ts';
import { session } from '../../state/session.ts';
import { Watch } from '../../state/store.ts';
import { snippetFolds } from '../../views/api-snippet-folds.ts';
import './add-answer.ts';
import type { AddAnswer } from './add-answer.ts';
import type { AnswerActions } from './answer-view.ts';
import { type AnswererSide, answererFields, answererName, firstWords } from './answerer.ts';
import { chatBar } from './chat-bar.ts';
import { exchangeView } from './exchange-view.ts';
import {
  type Parameters,
  parameterDefaults,
  raisedLimit,
  readSchema,
  samplingFields,
  systemMessage,
} from './playground-parameters.ts';
import { type Suggestion, suggestionsOf } from './suggestions.ts';
import { textEditor } from './text-editor.ts';

/** Closer to the end than this, the view follows new text. */
const nearPixels = 24;
const keptCharacters = 100_000;

/** A text of an exchange that is being written anew: its prompt, or an answer. */
interface Edited {
  readonly id: string;
  readonly kind: 'prompt' | 'answer' | 'correction';
  /** Which answer. */
  readonly index: number;
  readonly text: string;
}

interface EditorOptions {
  readonly label: string;
  readonly done: string;
  readonly hint: string;
  readonly send: (text: string) => void;
}

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
  @state() private _edited: Edited | null = null;
  /** Whether the request is shown as code. */
  @state() private _showsCode = false;
  /** The answer that is being added to a dataset. */
  @state() private _adding: Pick<AddAnswer, 'sent' | 'exchange' | 'index'> | null = null;
  /** The name that the chat is being given. */
  @state() private _renaming: string | null = null;
  private _list = new ChatList('');
  /** Whether the prompt is sent as soon as the models are known. */
  private _isSendWaiting = false;
  /** The place of the prompt that was recalled. */
  private _recalled = 0;
  /** The dataset that the suggestions are from. */
  private _dataset = '';
  private _talk = new Conversation('', '');
  private _unfollow: (() => void) | null = null;
  private _unlist: (() => void) | null = null;
  /** The maximum scroll position at the last update. */
  private _end = 0;
  private readonly _pace = paced(() => this.requestUpdate(), 30);
  private readonly _onHide = () => this._talk.rememberNow();

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
    this._unlist?.();
    this._talk = new Conversation('', '');
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (this.modelId !== this._talk.modelId) void this._openModel(this.modelId);
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

  /** Opens the chat that this tab had open with a model, or the latest. */
  private async _openModel(modelId: string): Promise<void> {
    this._leave();
    this._talk = new Conversation(modelId, '');
    this._unlist?.();
    const list = new ChatList(modelId);
    this._list = list;
    this._unlist = list.subscribe(() => this.requestUpdate());
    await list.refresh();
    if (list !== this._list || list.value.value === null) return;
    const had = openChatId(modelId);
    const found = list.value.value.find(({ id }) => had === '' || id === had);
    this._openChat(found?.id ?? (had || newId()), found !== undefined);
  }

  /** @param isStored whether the service has it. */
  private _openChat(id: string, isStored: boolean): void {
    this._leave();
    this._talk = new Conversation(this.modelId, id, isStored);
    this._unfollow = this._talk.subscribe(() => this._pace.ask());
    this._edited = null;
    this._renaming = null;
    this._end = 0;
    rememberOpen(this.modelId, id);
    this.requestUpdate();
  }

  private _openNew(): void {
    this._openChat(newId(), false);
    this._focus('#prompt');
  }

  /** Stops an answer that is no longer shown. */
  private _leave(): void {
    this._talk.stop();
    this._unfollow?.();
    this._unfollow = null;
  }

  protected override updated(): void {
    // Follows new text unless the user has scrolled up.
    const box = this.querySelector('.exchanges');
    if (box === null) return;
    const end = box.scrollHeight - box.clientHeight;
    if (end !== this._end && box.scrollTop >= this._end - nearPixels) box.scrollTop = end;
    this._end = end;
  }

  /** Whether all is read that says what is sent. */
  private get _isKnown(): boolean {
    return this._talk.chatId !== '' && !this._talk.loading && this.sides.every(({ facts }) => facts !== null);
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
    if (this._answer(this._fullPrompt())) this._write('');
  }

  /**
   * Has a prompt answered.
   * @param instead the exchange that it is another version of.
   * @returns whether it was sent.
   */
  private _answer(prompt: string, instead?: Exchange): boolean {
    const { value, busy } = this._talk;
    const place = instead === undefined ? value.length : value.indexOf(instead);
    const isWrong = readSchema(this.parameters.schema) === null;
    if (busy || isWrong || !this._isKnown || place < 0) return false;
    const { system } = this.parameters;
    const version = instead === undefined ? {} : { insteadOf: instead, standsAlone: !this._remembers };
    this._edited = null;
    this._follow(this._talk.send({ prompt, system, ...version }, this._asked(prompt, place)));
    return true;
  }

  /** Reads the list again once an answer is stored, and keeps the focus, whose control may be gone meanwhile. */
  private _follow(done: Promise<void>): void {
    const { _list: list } = this;
    void done.then(() => list.refresh());
    this._focus('#prompt');
  }

  /** Whether what answers now gave the answers of an exchange. */
  private _isOf({ sides }: Exchange): boolean {
    const names = this.sides.map(({ facts, answerer }) => facts && answererName(facts, answerer));
    return sides.length === names.length && sides.every(({ name }, index) => name === names[index]);
  }

  private _goOn(exchange: Exchange, place: number): void {
    this._follow(this._talk.goOn(exchange, this._asked(exchange.prompt, place)));
  }

  /** Has a prompt answered with twice as many new tokens, which stay the limit; fires `raise` with it. */
  private _raise(exchange: Exchange): void {
    const maxTokens = raisedLimit(this.parameters);
    this.parameters = { ...this.parameters, maxTokens };
    this.dispatchEvent(new CustomEvent('raise', { detail: maxTokens }));
    this._answer(exchange.prompt, exchange);
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

  /** Does something with the open chat, once all of it is stored; tells if it fails. */
  private async _withStored(work: (chatId: string) => Promise<void>): Promise<void> {
    const { _talk: talk } = this;
    try {
      await talk.remember();
      await work(talk.chatId);
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
    }
  }

  private _rename(): void {
    const name = this._renaming ?? '';
    this._renaming = null;
    this._focus('#prompt');
    const { _list: list } = this;
    void this._withStored((id) => list.rename(id, name));
  }

  private _export(): void {
    void this._withStored(async (id) => {
      const chat = await service.chat(id);
      const title = this._list.value.value?.find((one) => one.id === id)?.title ?? '';
      download(`${fileNameOf(title)}.json`, JSON.stringify(chat, null, 2), 'application/json');
    });
  }

  private _remove(): void {
    const { _list: list } = this;
    this._talk.stop();
    void this._withStored(async (id) => {
      const restore = await list.remove(id);
      if (this._talk.chatId === id) this._openNew();
      toasts.show('Chat deleted', 'info', () => {
        void restore().then(() => {
          if (this._list === list) this._openChat(id, true);
        });
      });
    });
  }

  private _bar(): TemplateResult {
    const { value, chatId } = this._talk;
    return chatBar({
      chats: this._list.value.value ?? [],
      openId: chatId,
      isEmpty: value.length === 0,
      search: this._list.search,
      renaming: this._renaming,
      open: (id) => (id === null ? this._openNew() : this._openChat(id, true)),
      find: (text) => this._list.find(text),
      rename: (name) => {
        if (this._renaming === null) this._focus('#chat-name');
        else if (name === null) this._focus('#prompt');
        this._renaming = name;
      },
      named: () => this._rename(),
      save: () => this._export(),
      remove: () => this._remove(),
    });
  }

  protected override render(): TemplateResult {
    const { value, busy, chatId, loading } = this._talk;
    const error =
      this._list.value.error ??
      this._talk.error ??
      this.sides.find((side) => side.error !== null)?.error ??
      null;
    return html`
      ${this._bar()}
      <div class="exchanges" tabindex="0" role="log" aria-label="Answers" aria-live="polite" aria-busy=${busy}>
        ${
          value.length > 0
            ? keyedRow(
                value.map((exchange, index) => ({ exchange, index })),
                ({ exchange }) => exchange.id,
                ({ exchange, index }) => this._exchange(exchange, index),
              )
            : chatId === '' || loading
              ? skeleton(4)
              : this._invitation()
        }
      </div>
      <form class="prompt" @submit=${this._send}>
        ${error === null ? nothing : serviceErrorPanel('Could not load or store the chat', error)} ${this._aloneHint()}
        ${this._fields()}
        <div class="row between wrap-row">
          <button
            type="button"
            ?disabled=${!this._isKnown}
            @click=${() => {
              this._showsCode = true;
            }}
          >
            View code
          </button>
          ${
            busy
              ? html`<button type="button" class="danger" @click=${this._stop}>Stop</button>`
              : html`<button type="submit" class="primary" ?disabled=${this._prompt.trim() === ''}>Send</button>`
          }
        </div>
      </form>
      ${this._showsCode ? this._code() : nothing}
      ${
        this._adding === null
          ? nothing
          : html`<hone-add-answer
              .sent=${this._adding.sent}
              .exchange=${this._adding.exchange}
              .index=${this._adding.index}
              @dismiss=${() => {
                this._adding = null;
              }}
            ></hone-add-answer>`
      }
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
    const { prompt } = exchange;
    const isLast = index === value.length - 1;
    const versions = this._talk.versions(exchange);
    const at = versions.indexOf(exchange);
    const unlessBusy = <F>(act: F): F | null => (busy ? null : act);
    const step = (by: -1 | 1) => {
      const other = versions[at + by];
      if (other !== undefined) this._talk.choose(other);
    };
    // A schema holds from the beginning of an answer.
    const isFree = readSchema(this.parameters.schema) === undefined;
    const canGoOn = isFree && (!this._remembers || isLast) && this._isOf(exchange);
    return exchangeView(
      exchange,
      { number: at + 1, count: versions.length },
      {
        edit: unlessBusy(() => this._edit(exchange, 'prompt', 0, prompt)),
        regenerate: unlessBusy(() => this._answer(prompt, exchange)),
        goOn: canGoOn ? unlessBusy(() => this._goOn(exchange, index)) : null,
        raise: unlessBusy(() => this._raise(exchange)),
        step: unlessBusy(step),
        ofAnswer: (side, number) => this._ofAnswer(exchange, side, number),
      },
      this._editor(exchange, 'prompt', 0, {
        ...{ label: 'Edited prompt', done: 'Send again' },
        hint: this._remembers && !isLast ? 'What follows stays with the version before.' : '',
        send: (text) => this._answer(text, exchange),
      }),
    );
  }

  private _edit({ id }: Exchange, kind: Edited['kind'], index: number, text: string): void {
    this._edited = { id, kind, index, text };
    this._focus('#edited');
  }

  /** The form for a text of an exchange; `null` unless it is being written. */
  private _editor(
    { id }: Exchange,
    kind: Edited['kind'],
    index: number,
    options: EditorOptions,
  ): TemplateResult | null {
    const edited = this._edited;
    if (edited?.id !== id || edited.kind !== kind || edited.index !== index) return null;
    return textEditor({
      ...options,
      text: edited.text,
      isBusy: this._talk.busy,
      write: (text) => {
        this._edited = { ...edited, text };
      },
      send: () => options.send(edited.text),
      leave: () => this._leaveEditor(),
    });
  }

  private _leaveEditor(): void {
    this._edited = null;
    this._focus('#prompt');
  }

  private _add(exchange: Exchange, index: number): void {
    const { value } = this._talk;
    const sent = this._remembers ? value.slice(0, value.indexOf(exchange)) : [];
    this._adding = { sent, exchange, index };
  }

  private _ofAnswer(exchange: Exchange, side: Side, index: number): AnswerActions {
    const { _talk: talk } = this;
    const correct = () => this._edit(exchange, 'correction', index, side.correction ?? side.text.trim());
    const leaving = (act: (text: string) => void) => (text: string) => {
      act(text);
      this._leaveEditor();
    };
    return {
      rate: (rating) => {
        const isTaken = side.rating === rating;
        talk.judge(exchange, side, { rating: isTaken ? null : rating });
        if (rating === 'bad' && !isTaken) correct();
      },
      correct,
      add: talk.busy ? null : () => this._add(exchange, index),
      edit:
        talk.busy || exchange.sides.length > 1
          ? null
          : () => this._edit(exchange, 'answer', index, side.text.trim()),
      editor:
        this._editor(exchange, 'answer', index, {
          ...{ label: 'Edited answer', done: 'Save' },
          hint: 'The conversation goes on from this answer.',
          send: leaving((text) => talk.answer(exchange, side, text)),
        }) ??
        this._editor(exchange, 'correction', index, {
          ...{ label: 'Corrected answer', done: 'Save' },
          hint: 'What it should have been; for a dataset.',
          send: leaving((text) => talk.judge(exchange, side, { rating: 'bad', correction: text })),
        }),
    };
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
  private _code(): TemplateResult | typeof nothing {
    const { value } = this._talk;
    const isNew = this._prompt !== '' || value.length === 0;
    const [asked] = isNew
      ? this._asked(this._fullPrompt(), value.length)
      : this._asked(value.at(-1)?.prompt ?? '', value.length - 1);
    if (asked === undefined) return nothing;
    return html`<hone-dialog
      heading="View code"
      .content=${html`<div class="column">${snippetFolds(asked.ask)}</div>`}
      @dismiss=${() => {
        this._showsCode = false;
      }}
    ></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-chat': ChatView;
  }
}
