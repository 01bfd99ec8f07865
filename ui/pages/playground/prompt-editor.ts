import { html, nothing, type TemplateResult } from 'lit';

/** A form in place of an earlier prompt, to send another text there. */
export function promptEditor(options: {
  readonly text: string;
  readonly isBusy: boolean;
  /** Whether what follows the prompt goes. */
  readonly cutsOff: boolean;
  readonly write: (text: string) => void;
  readonly send: () => void;
  readonly leave: () => void;
}): TemplateResult {
  const { text, isBusy, cutsOff, write, send, leave } = options;
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
    <label class="off-screen" for="edited">Edited prompt</label>
    <textarea
      id="edited"
      rows="3"
      .value=${text}
      @keydown=${key}
      @input=${(event: Event) => write((event.target as HTMLTextAreaElement).value)}
    ></textarea>
    <div class="row wrap-row">
      <button type="submit" class="small primary" ?disabled=${!isSendable}>Send again</button>
      <button type="button" class="small" @click=${leave}>Cancel</button>
      ${cutsOff ? html`<span class="hint">What follows it is removed.</span>` : nothing}
    </div>
  </form>`;
}
