import { html, nothing, type ReactiveControllerHost, type TemplateResult } from 'lit';
import { readStored, writeStored } from '../../../state/local-storage.ts';

const keptCharacters = 100_000;

const textOf = (event: Event) => (event.target as HTMLTextAreaElement).value;

/** The prompt that is being written, with its context where prompts are questions about a text. */
export class PromptDraft {
  readonly #host: ReactiveControllerHost;
  /** The place of the prompt that was recalled. */
  #recalled = 0;
  text = readStored('prompt', '');
  context = readStored('context', '');
  isQuestion = false;

  constructor(host: ReactiveControllerHost) {
    this.#host = host;
  }

  /** As it is sent. */
  get full(): string {
    if (!this.isQuestion) return this.text;
    // The question is the last paragraph, so it must not contain blank lines.
    return `${this.context.trim()}\n\n${this.text.trim().replace(/\s*\n\s*/g, ' ')}`;
  }

  write(text: string): void {
    this.text = text;
    writeStored('prompt', text.slice(0, keptCharacters));
    this.#host.requestUpdate();
  }

  writeContext(context: string): void {
    this.context = context;
    writeStored('context', context.slice(0, keptCharacters));
    this.#host.requestUpdate();
  }

  /** Goes through earlier prompts, from an empty field or from one of them. @returns whether there was one to go to. */
  recall(earlier: readonly string[], by: -1 | 1): boolean {
    const prompts = earlier.map((prompt) => (this.isQuestion ? (prompt.split('\n\n').at(-1) ?? '') : prompt));
    if (this.text === '') this.#recalled = prompts.length;
    else if (this.text !== prompts[this.#recalled]) return false;
    const next = this.#recalled + by;
    if (next < 0 || next > prompts.length) return false;
    this.#recalled = next;
    this.write(prompts[next] ?? '');
    return true;
  }

  /** The fields that it is written in. */
  fields(onKey: (event: KeyboardEvent) => void): TemplateResult {
    return html`${
      this.isQuestion
        ? html`<div class="field">
            <label for="context">Context</label>
            <textarea
              id="context"
              rows="5"
              .value=${this.context}
              @input=${(event: Event) => this.writeContext(textOf(event))}
            ></textarea>
          </div>`
        : nothing
    }
    <div class="field">
      <label for="prompt">${this.isQuestion ? 'Question' : 'Prompt'}</label>
      <textarea
        id="prompt"
        rows=${this.isQuestion ? 1 : 3}
        .value=${this.text}
        @keydown=${onKey}
        @input=${(event: Event) => this.write(textOf(event))}
      ></textarea>
    </div>`;
  }
}
