import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { toasts } from '../state/app.ts';
import { Watch } from '../state/store.ts';
import { LightElement } from './light-element.ts';

/** Short notifications at the bottom of the page. */
@customElement('hone-toasts')
export class ToastList extends LightElement {
  constructor() {
    super();
    new Watch(this, toasts);
  }

  protected override render(): TemplateResult {
    return html`<div class="toasts" role="status" aria-live="polite">
      ${toasts.value.map(
        ({ id, kind, text, undo }) => html`<div class="toast" data-kind=${kind}>
          <span class="wrap"><bdi>${text}</bdi></span>
          ${undo === undefined ? nothing : undoButton(id, undo)}
          <button type="button" class="tool" aria-label="Close message" @click=${() => toasts.close(id)}>
            <span aria-hidden="true">×</span>
          </button>
        </div>`,
      )}
    </div>`;
  }
}

const undoButton = (id: number, undo: () => void) => html`<button
  type="button"
  class="small"
  @click=${() => {
    toasts.close(id);
    undo();
  }}
>
  Undo
</button>`;

declare global {
  interface HTMLElementTagNameMap {
    'hone-toasts': ToastList;
  }
}
