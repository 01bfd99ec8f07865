import { html, nothing, type TemplateResult } from 'lit';

/** A form in place of a prompt or an answer, to write another text. */
export function textEditor(options: {
  readonly label: string;
  readonly text: string;
  readonly isBusy: boolean;
  /** The label of the button that sends or saves the text. */
  readonly done: string;
  readonly hint: string;
  readonly write: (text: string) => void;
  readonly send: () => void;
  readonly leave: () => void;
}): TemplateResult {
  const { label, text, isBusy, done, hint, write, send, leave } = options;
  const isSendable = text.trim() !== '' && !isBusy;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isSendable) send();
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === 'Escape') leave();
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event);
  };
  return html`<form class="prompt-editor" @submit=${submit}>
    <label class="off-screen" for="edited">${label}</label>
    <textarea
      id="edited"
      rows="3"
      .value=${text}
      @keydown=${key}
      @input=${(event: Event) => write((event.target as HTMLTextAreaElement).value)}
    ></textarea>
    <div class="row wrap-row">
      <button type="submit" class="small primary" ?disabled=${!isSendable}>${done}</button>
      <button type="button" class="small" @click=${leave}>Cancel</button>
      ${hint === '' ? nothing : html`<span class="hint">${hint}</span>`}
    </div>
  </form>`;
}
