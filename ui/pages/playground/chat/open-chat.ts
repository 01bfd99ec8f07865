import type { ReactiveController, ReactiveControllerHost, TemplateResult } from 'lit';
import type { ServiceError } from '../../../api/request.ts';
import { toasts } from '../../../state/app.ts';
import { ChatList } from '../../../state/playground/chat-list.ts';
import { newId, openChatId, rememberOpen } from '../../../state/playground/chats.ts';
import { Conversation } from '../../../state/playground/conversation.ts';
import { asServiceError } from '../../../state/remote.ts';
import { paced } from '../../../state/runs/pace.ts';
import { chatBar } from './chat-bar.ts';
import { exportChat } from './export-chat.ts';

/** What an open chat asks of its view. */
export interface OpenChatView extends ReactiveControllerHost {
  /** Called when another chat is open. */
  opened(): void;
  focusOn(selector: string): void;
}

/** The chats with a model, and the open one, which is stored as it grows. */
export class OpenChat implements ReactiveController {
  readonly #view: OpenChatView;
  readonly #pace: ReturnType<typeof paced>;
  readonly #onHide = () => this.talk.rememberNow();
  #list = new ChatList('');
  #unlist: (() => void) | null = null;
  #unfollow: (() => void) | null = null;
  /** What is being done with chats. */
  #doing: Promise<void> = Promise.resolve();
  #modelId = '';
  /** The name that the chat is being given. */
  #renaming: string | null = null;
  /** The prompts and answers of the open chat. */
  talk = new Conversation('', '');

  constructor(view: OpenChatView) {
    this.#view = view;
    this.#pace = paced(() => view.requestUpdate(), 30);
    view.addController(this);
  }

  hostConnected(): void {
    addEventListener('pagehide', this.#onHide);
  }

  hostDisconnected(): void {
    removeEventListener('pagehide', this.#onHide);
    this.#leave();
    this.#unlist?.();
    this.talk = new Conversation('', '');
  }

  /** Why the list could not be read, or the chat not read or stored. */
  get error(): ServiceError | null {
    return this.#list.value.error ?? this.talk.error;
  }

  /** Opens the chat that this tab had open with a model, or the latest, unless one of the model is open. */
  async openModel(modelId: string): Promise<void> {
    if (modelId === this.talk.modelId) return;
    this.#leave();
    this.#modelId = modelId;
    this.talk = new Conversation(modelId, '');
    this.#unlist?.();
    const list = new ChatList(modelId);
    this.#list = list;
    this.#unlist = list.subscribe(() => this.#view.requestUpdate());
    await list.refresh();
    if (list !== this.#list || list.value.value === null) return;
    const had = openChatId(modelId);
    const found = list.value.value.find(({ id }) => had === '' || id === had);
    this.#open(found?.id ?? (had || newId()), found !== undefined);
  }

  /** Reads the list again once `done`, as when an answer is stored. */
  listAfter(done: Promise<void>): void {
    const list = this.#list;
    void done.then(() => list.refresh());
  }

  /** @param isStored whether the service has it. */
  #open(id: string, isStored: boolean): void {
    this.#leave();
    const modelId = this.#modelId;
    this.talk = new Conversation(modelId, id, isStored);
    this.#unfollow = this.talk.subscribe(() => this.#pace.ask());
    this.#renaming = null;
    rememberOpen(modelId, id);
    this.#view.opened();
    this.#view.requestUpdate();
  }

  #openNew(): void {
    this.#open(newId(), false);
    this.#view.focusOn('#prompt');
  }

  /** Stops an answer that is no longer shown. */
  #leave(): void {
    this.talk.stop();
    this.#unfollow?.();
    this.#unfollow = null;
  }

  /** Does something with the open chat, once all of it is stored and what was asked for before is done; tells if it fails. */
  #withStored(work: (chatId: string) => Promise<void>): Promise<void> {
    const { talk } = this;
    this.#doing = this.#doing.then(async () => {
      try {
        await talk.remember();
        await work(talk.chatId);
      } catch (error) {
        toasts.show(asServiceError(error).message, 'error');
      }
    });
    return this.#doing;
  }

  #rename(): void {
    const name = this.#renaming ?? '';
    this.#renaming = null;
    this.#view.requestUpdate();
    this.#view.focusOn('#prompt');
    const list = this.#list;
    void this.#withStored((id) => list.rename(id, name));
  }

  #export(): void {
    const title = (id: string) => this.#list.value.value?.find((one) => one.id === id)?.title ?? '';
    void this.#withStored((id) => exportChat(id, title(id)));
  }

  #remove(): void {
    const list = this.#list;
    this.talk.stop();
    void this.#withStored(async (id) => {
      const restore = await list.remove(id);
      if (this.talk.chatId === id) this.#openNew();
      toasts.show('Chat deleted', 'info', () => {
        void restore().then(() => {
          if (this.#list === list) this.#open(id, true);
        });
      });
    });
  }

  /** The bar with the list of chats and what can be done with the open one. */
  bar(): TemplateResult {
    const { value, chatId } = this.talk;
    return chatBar({
      chats: this.#list.value.value ?? [],
      openId: chatId,
      isEmpty: value.length === 0,
      search: this.#list.search,
      renaming: this.#renaming,
      open: (id) => (id === null ? this.#openNew() : this.#open(id, true)),
      find: (text) => this.#list.find(text),
      rename: (name) => {
        if (this.#renaming === null) this.#view.focusOn('#chat-name');
        else if (name === null) this.#view.focusOn('#prompt');
        this.#renaming = name;
        this.#view.requestUpdate();
      },
      named: () => this.#rename(),
      save: () => this.#export(),
      remove: () => this.#remove(),
    });
  }
}
