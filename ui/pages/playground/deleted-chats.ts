import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { ChatSummary } from '../../api/types.ts';
import { keyedRow } from '../../elements/child.ts';
import { LightElement } from '../../elements/light-element.ts';
import { models, toasts } from '../../state/app.ts';
import { shownOf } from '../../state/playground/branches.ts';
import { ChatList } from '../../state/playground/chat-list.ts';
import type { Exchange } from '../../state/playground/exchange.ts';
import { fromTurn } from '../../state/playground/stored-turn.ts';
import { asServiceError, Reread } from '../../state/remote.ts';
import type { AnswerActions } from './answer-view.ts';
import { exportChat } from './chat/export-chat.ts';
import { type ExchangeActions, exchangeView } from './exchange-view.ts';

const onlyRead: AnswerActions = {
  rate: null,
  edit: null,
  correct: null,
  add: null,
  calls: null,
  editor: null,
};
const noActions: ExchangeActions = {
  edit: null,
  regenerate: null,
  goOn: null,
  raise: null,
  step: null,
  ofAnswer: () => onlyRead,
};

/** The chats of models that were deleted: they can be read, exported and deleted. */
@customElement('hone-deleted-chats')
export class DeletedChats extends LightElement {
  private readonly _list = new ChatList(null);
  @state() private _shown: { readonly title: string; readonly exchanges: readonly Exchange[] } | null = null;
  #unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Reread(this, this._list);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    let known = models.value.value;
    this.#unfollow = models.subscribe(() => {
      const { value } = models.value;
      if (known !== null && value !== known) void this._list.refresh();
      known = value;
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#unfollow?.();
  }

  private async _tell(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      toasts.show(asServiceError(error).message, 'error');
    }
  }

  private async _show({ id, title }: ChatSummary): Promise<void> {
    const { turns, chosen } = await service.chat(id);
    this._shown = { title, exchanges: shownOf(turns.map(fromTurn), chosen) };
  }

  private async _remove({ id }: ChatSummary): Promise<void> {
    const restore = await this._list.remove(id);
    toasts.show('Chat deleted', 'info', () => void restore());
  }

  protected override render(): TemplateResult | typeof nothing {
    const chats = this._list.value.value ?? [];
    if (chats.length === 0) return nothing;
    return html`<section class="card">
      <details class="fold bare">
        <summary>Chats of deleted models (${chats.length})</summary>
        <ul class="list">
          ${keyedRow(
            chats,
            ({ id }) => id,
            (chat) => this._row(chat),
          )}
        </ul>
      </details>
      ${this._shown === null ? nothing : this._dialog(this._shown.title, this._shown.exchanges)}
    </section>`;
  }

  private _row(chat: ChatSummary): TemplateResult {
    const tool = (name: string, work: () => Promise<void>) => html`<button
      type="button"
      class="tool"
      aria-label="${name} ${chat.title}"
      @click=${() => void this._tell(work)}
    >
      ${name}
    </button>`;
    return html`<li class="row between wrap-row">
      <span class="row wrap-row"><bdi class="wrap">${chat.title}</bdi> <span class="tag">model deleted</span></span>
      <span class="row">
        ${tool('Read', () => this._show(chat))} ${tool('Export', () => exportChat(chat.id, chat.title))}
        ${tool('Delete', () => this._remove(chat))}
      </span>
    </li>`;
  }

  private _dialog(title: string, exchanges: readonly Exchange[]): TemplateResult {
    return html`<hone-dialog
      class="wide"
      .heading=${title}
      .content=${html`<div class="exchanges" tabindex="0" role="log" aria-label="Answers of the deleted model">
        ${exchanges.map((exchange) => exchangeView(exchange, { number: 1, count: 1 }, noActions, null))}
      </div>`}
      @dismiss=${() => {
        this._shown = null;
      }}
    ></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-deleted-chats': DeletedChats;
  }
}
