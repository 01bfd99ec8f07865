import { html, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { keyedRow } from '../../../elements/child.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import type { Asked } from '../../../state/playground/conversation.ts';
import type { Exchange, Side } from '../../../state/playground/exchange.ts';
import { type Asking, wholeCalls } from '../../../state/playground/said.ts';
import { readTools } from '../../../state/playground/tools.ts';
import { session } from '../../../state/session.ts';
import { Watch } from '../../../state/store.ts';
import { snippetFolds } from '../../../views/api-snippet-folds.ts';
import { answerActions } from './answer-actions.ts';
import { CallResults } from './call-results.ts';
import { isAnsweredBy, remembers, requestsFor, sentWith, takesTools } from './chat-requests.ts';
import { contextMeter, contextUse, contextWarning } from './context-meter.ts';
import { EditedText } from './edited-text.ts';
import { OpenChat, type OpenChatView } from './open-chat.ts';
import { PromptDraft } from './prompt-draft.ts';
import { SuggestedPrompts } from './suggested-prompts.ts';
import '../add-answer.ts';
import type { AddAnswer } from '../add-answer.ts';
import type { AnswererSide } from '../answerer.ts';
import { exchangeView } from '../exchange-view.ts';
import { type Parameters, parameterDefaults, raisedLimit, readSchema } from '../playground-parameters.ts';
import { isForced } from '../tool-fields.ts';
import type { Suggestion } from './suggestions.ts';

/** Closer to the end than this, the view follows new text. */
const nearPixels = 24;

/** The chats with a model: the open one with its prompts and answers, and the field for the next prompt. */
@customElement('hone-chat')
export class ChatView extends LightElement implements OpenChatView {
  @property() modelId = '';
  /** What answers. */
  @property({ attribute: false }) sides: readonly AnswererSide[] = [];
  @property({ attribute: false }) parameters: Parameters = parameterDefaults;
  /** Whether a prompt is a question about a text. */
  @property({ attribute: false }) isQuestion = false;
  /** Whether the request is shown as code. */
  @state() private _showsCode = false;
  /** The answer that is being added to a dataset. */
  @state() private _adding: Pick<AddAnswer, 'sent' | 'exchange' | 'index'> | null = null;
  private readonly _draft = new PromptDraft(this);
  private readonly _suggested = new SuggestedPrompts(this);
  private readonly _edited = new EditedText(this);
  private readonly _results = new CallResults(this);
  private readonly _chat = new OpenChat(this);
  /** The chat whose tools were told. */
  private _told: object | null = null;
  /** Whether the prompt is sent as soon as the models are known. */
  private _isSendWaiting = false;
  /** The maximum scroll position at the last update. */
  private _end = 0;

  constructor() {
    super();
    new Watch(this, session);
  }

  /** Begins to show a chat. */
  opened(): void {
    this._edited.end();
    this._end = 0;
  }

  focusOn(selector: string): void {
    void this.updateComplete.then(() => this.querySelector<HTMLElement>(selector)?.focus());
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    this._draft.isQuestion = this.isQuestion;
    void this._chat.openModel(this.modelId);
    if (changed.has('sides')) void this._suggested.from(this.sides[0]?.facts?.dataset ?? '');
    const before = changed.get('parameters') as Parameters | undefined;
    if (before !== undefined && before.tools !== this.parameters.tools) this._keepTools();
    if (this._isSendWaiting && this._isKnown) this._sendPrompt();
  }

  /** Keeps the tools with the chat, once its own are known. */
  private _keepTools(): void {
    const { tools, fault } = readTools(this.parameters.tools);
    const { talk } = this._chat;
    if (this._told === talk && takesTools(this) && fault === null) talk.keepTools(tools);
  }

  /** Fires `tools` with those of a chat that was opened. */
  private _tellTools(): void {
    const { talk } = this._chat;
    if (this._told === talk || talk.chatId === '' || talk.loading) return;
    this._told = talk;
    if (talk.tools !== null) this.dispatchEvent(new CustomEvent('tools', { detail: talk.tools }));
  }

  protected override updated(): void {
    this._tellTools();
    // Follows new text unless the user has scrolled up.
    const box = this.querySelector('.exchanges');
    if (box === null) return;
    const end = box.scrollHeight - box.clientHeight;
    if (end !== this._end && box.scrollTop >= this._end - nearPixels) box.scrollTop = end;
    this._end = end;
  }

  /** Whether all is read that says what is sent. */
  private get _isKnown(): boolean {
    return (
      this._chat.talk.chatId !== '' &&
      !this._chat.talk.loading &&
      this.sides.every(({ facts }) => facts !== null)
    );
  }

  private _send(event: Event): void {
    event.preventDefault();
    // What is known about the models says what is sent.
    this._isSendWaiting = !this._isKnown;
    if (this._isKnown) this._sendPrompt();
  }

  private _sendPrompt(): void {
    this._isSendWaiting = false;
    if (this._draft.text.trim() === '') return;
    if (this._answer({ prompt: this._draft.full, results: [] })) this._draft.write('');
  }

  /**
   * Has a prompt, or results of calls, answered.
   * @param instead the exchange that it is another version of.
   * @returns whether it was sent.
   */
  private _answer({ prompt, results }: Asking, instead?: Exchange): boolean {
    const { value, busy } = this._chat.talk;
    const place = instead === undefined ? value.length : value.indexOf(instead);
    const isWrong =
      readSchema(this.parameters.schema) === null ||
      (takesTools(this) && readTools(this.parameters.tools).fault !== null);
    if (busy || isWrong || !this._isKnown || place < 0) return false;
    const { system } = this.parameters;
    // Results belong to the calls before them.
    const standsAlone = !remembers(this) && !value[place + 1]?.results.length;
    const version = instead === undefined ? {} : { insteadOf: instead, standsAlone };
    this._edited.end();
    this._keepTools();
    const requests = this._requests({ prompt, results }, place);
    this._follow(this._chat.talk.send({ prompt, results, system, ...version }, requests));
    return true;
  }

  /** Reads the list again once an answer is stored, and keeps the focus, whose control may be gone meanwhile. */
  private _follow(done: Promise<void>): void {
    this._chat.listAfter(done);
    this.focusOn('#prompt');
  }

  private _requests(asking: Asking, count: number): Asked[] {
    return requestsFor(this, this._chat.talk.value.slice(0, count), asking);
  }

  private _goOn(exchange: Exchange, place: number): void {
    this._follow(this._chat.talk.goOn(exchange, this._requests(exchange, place)));
  }

  /** Has a prompt answered with twice as many new tokens, which stay the limit; fires `raise` with it. */
  private _raise(exchange: Exchange): void {
    const maxTokens = raisedLimit(this.parameters);
    this.parameters = { ...this.parameters, maxTokens };
    this.dispatchEvent(new CustomEvent('raise', { detail: maxTokens }));
    this._answer(exchange, exchange);
  }

  private _stop(): void {
    this._chat.talk.stop();
    this.focusOn('#prompt');
  }

  private _key(event: KeyboardEvent): void {
    if (event.isComposing || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter') this._send(event);
    else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      const sent = this._chat.talk.value.map(({ prompt }) => prompt).filter(Boolean);
      if (this._draft.recall(sent, event.key === 'ArrowUp' ? -1 : 1)) event.preventDefault();
    }
  }

  protected override render(): TemplateResult {
    const { value, busy, chatId, loading } = this._chat.talk;
    const use = remembers(this) ? contextUse(value, this.sides) : null;
    const ofChat = this._chat.error;
    const error = ofChat ?? this.sides.find((side) => side.error !== null)?.error ?? null;
    const failure = ofChat === null ? 'Could not load the model' : 'Could not load or store the chat';
    return html`
      ${this._chat.bar()}
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
              : this._suggested.invitation(this.isQuestion, (suggestion) => this._take(suggestion))
        }
      </div>
      <form class="prompt" @submit=${this._send}>
        ${error === null ? nothing : serviceErrorPanel(failure, error)} ${this._aloneHint()}
        ${this._draft.fields(this._key)} ${contextWarning(use, this.parameters.maxTokens)}
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
          ${contextMeter(use)}
          ${
            busy
              ? html`<button type="button" class="danger" @click=${this._stop}>Stop</button>`
              : html`<button type="submit" class="primary" ?disabled=${this._draft.text.trim() === ''}>Send</button>`
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
              .tools=${this._chat.talk.tools}
              .index=${this._adding.index}
              @dismiss=${() => {
                this._adding = null;
              }}
            ></hone-add-answer>`
      }
    `;
  }

  private _exchange(exchange: Exchange, index: number): TemplateResult {
    const { busy, value } = this._chat.talk;
    const { prompt, results } = exchange;
    const isLast = index === value.length - 1;
    const versions = this._chat.talk.versions(exchange);
    const at = versions.indexOf(exchange);
    const unlessBusy = <F>(act: F): F | null => (busy ? null : act);
    const step = (by: -1 | 1) => {
      const other = versions[at + by];
      if (other !== undefined) this._chat.talk.choose(other);
    };
    // A schema, or a call that must be, holds from the beginning of an answer.
    const isFree = readSchema(this.parameters.schema) === undefined && !isForced(this.parameters);
    const isText = exchange.sides.every(({ calls = [] }) => calls.length === 0);
    const canGoOn = isFree && isText && (!remembers(this) || isLast) && isAnsweredBy(exchange, this.sides);
    const hint = remembers(this) && !isLast ? 'What follows stays with the version before.' : '';
    return exchangeView(
      exchange,
      { number: at + 1, count: versions.length },
      {
        edit: unlessBusy(() => this._edited.begin(exchange, 'prompt', 0, prompt)),
        regenerate: unlessBusy(() => this._answer(exchange, exchange)),
        goOn: canGoOn ? unlessBusy(() => this._goOn(exchange, index)) : null,
        raise: unlessBusy(() => this._raise(exchange)),
        step: unlessBusy(step),
        ofAnswer: (side, number) => {
          const add = () => this._add(exchange, number);
          const isAnswered = this.sides.length === 1 && number === 0;
          const calls = isLast && isAnswered ? this._awaited(exchange, side) : null;
          const { talk } = this._chat;
          return answerActions({ talk, edited: this._edited, add, calls }, exchange, side, number);
        },
      },
      results.length > 0 && this._edited.isOf(exchange, 'prompt', 0)
        ? this._results.edited(exchange.id, results, {
            isBusy: busy,
            hint,
            send: (written) => this._answer({ prompt, results: written }, exchange),
            leave: () => this._edited.leave(),
          })
        : this._edited.editor(exchange, 'prompt', 0, {
            label: 'Edited prompt',
            done: 'Send again',
            isBusy: busy,
            hint,
            send: (text) => this._answer({ prompt: text, results }, exchange),
          }),
    );
  }

  /** The calls of an answer, with fields for their results; `null` without calls. */
  private _awaited({ id }: Exchange, side: Side): TemplateResult | null {
    const calls = wholeCalls(side);
    if (calls.length === 0) return null;
    return this._results.ofCalls(id, calls, {
      isBusy: this._chat.talk.busy,
      send: (results) => this._answer({ prompt: '', results }),
    });
  }

  private _take({ prompt, context }: Suggestion): void {
    this._draft.write(prompt);
    if (this.isQuestion) this._draft.writeContext(context);
    this.focusOn('#prompt');
  }

  private _add(exchange: Exchange, index: number): void {
    const { value } = this._chat.talk;
    const sent = sentWith(this, value.slice(0, value.indexOf(exchange)), exchange);
    this._adding = { sent, exchange, index };
  }

  /** Says if a prompt is sent without those before it. */
  private _aloneHint(): TemplateResult | typeof nothing {
    if (remembers(this) || !this._isKnown) return nothing;
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
    const { value } = this._chat.talk;
    const last = this._draft.text === '' ? value.at(-1) : undefined;
    const asking = last ?? { prompt: this._draft.full, results: [] };
    const [asked] = this._requests(asking, last === undefined ? value.length : value.length - 1);
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
