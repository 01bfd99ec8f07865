import { html, nothing, type TemplateResult } from 'lit';
import type { ServiceError } from '../../../api/request.ts';
import { serviceErrorPanel } from '../../../elements/parts.ts';

/** The form in which what an answer should have been is written. Ctrl+Enter saves, Escape leaves. */
export function correctionEditor(options: {
  readonly text: string;
  readonly isBusy: boolean;
  /** Why it could not be saved. */
  readonly error: ServiceError | null;
  /** Whether there is one that can be taken back. */
  readonly isCorrected: boolean;
  readonly write: (text: string) => void;
  readonly save: () => void;
  readonly takeBack: () => void;
  readonly leave: () => void;
}): TemplateResult {
  const { text, isBusy, error, isCorrected, write, save, takeBack, leave } = options;
  const isPossible = text.trim() !== '' && !isBusy;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isPossible) save();
  };
  const key = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === 'Escape') leave();
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<form class="prompt-editor" @submit=${submit}>
    <label for="correction">Corrected answer</label>
    <textarea
      id="correction"
      rows="5"
      .value=${text}
      @keydown=${key}
      @input=${(event: Event) => write((event.target as HTMLTextAreaElement).value)}
    ></textarea>
    <div class="row wrap-row">
      <button type="submit" class="small primary" ?disabled=${!isPossible}>Save correction</button>
      <button type="button" class="small" @click=${leave}>Cancel</button>
      ${isCorrected ? html`<button type="button" class="small" ?disabled=${isBusy} @click=${takeBack}>Remove correction</button>` : ''}
      <span class="hint"><kbd>Ctrl</kbd> <kbd>Enter</kbd> saves, <kbd>Esc</kbd> cancels.</span>
    </div>
  </form>
  ${error === null ? nothing : serviceErrorPanel('Could not save the correction', error)}`;
}
