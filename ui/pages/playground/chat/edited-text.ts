import type { TemplateResult } from 'lit';
import type { Exchange } from '../../../state/playground/exchange.ts';
import type { OpenChatView } from './open-chat.ts';
import { textEditor } from './text-editor.ts';

/** A text of an exchange that is being written anew: its prompt, or an answer. */
interface Edited {
  readonly id: string;
  readonly kind: 'prompt' | 'answer' | 'correction';
  /** Which answer. */
  readonly index: number;
  readonly text: string;
}

/** The text of a chat that is being written anew; one at a time. */
export class EditedText {
  readonly #view: OpenChatView;
  #edited: Edited | null = null;

  constructor(view: OpenChatView) {
    this.#view = view;
  }

  begin({ id }: Exchange, kind: Edited['kind'], index: number, text: string): void {
    this.#set({ id, kind, index, text });
    this.#view.focusOn('#edited');
  }

  leave(): void {
    this.end();
    this.#view.focusOn('#prompt');
  }

  /** Leaves it without the focus. */
  end(): void {
    this.#set(null);
  }

  /** Whether a text is being written. */
  isOf({ id }: Exchange, kind: Edited['kind'], index: number): boolean {
    return this.#edited?.id === id && this.#edited.kind === kind && this.#edited.index === index;
  }

  /** The form for a text of an exchange; `null` unless it is being written. */
  editor(
    exchange: Exchange,
    kind: Edited['kind'],
    index: number,
    options: {
      readonly label: string;
      readonly done: string;
      readonly hint: string;
      readonly isBusy: boolean;
      readonly send: (text: string) => void;
    },
  ): TemplateResult | null {
    const edited = this.#edited;
    if (edited === null || !this.isOf(exchange, kind, index)) return null;
    return textEditor({
      ...options,
      text: edited.text,
      write: (text) => this.#set({ ...edited, text }),
      send: () => options.send(edited.text),
      leave: () => this.leave(),
    });
  }

  #set(edited: Edited | null): void {
    this.#edited = edited;
    this.#view.requestUpdate();
  }
}
