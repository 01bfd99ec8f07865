import { html, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { LightElement } from './light-element.ts';

let nextId = 1;

/**
 * A modal dialog; the browser traps and restores the focus. Fires `dismiss` when closed. A click outside does not
 * close it, since it may be the second click on a button that has moved.
 */
@customElement('hone-dialog')
export class Dialog extends LightElement {
  @property() heading = '';
  /** Rendered by this element, so listeners must not rely on `this`. */
  @property({ attribute: false }) content: TemplateResult = html``;
  private readonly _id = `dialog-${nextId++}`;

  protected override firstUpdated(): void {
    this.querySelector('dialog')?.showModal();
  }

  private _closed(): void {
    this.dispatchEvent(new CustomEvent('dismiss', { bubbles: true }));
  }

  private _close(): void {
    this.querySelector('dialog')?.close();
  }

  protected override render(): TemplateResult {
    return html`<dialog aria-labelledby=${this._id} @close=${this._closed}>
      <div class="dialog-body">
        <h2 id=${this._id}>${this.heading}</h2>
        ${this.content}
        <button type="button" class="tool dialog-close" aria-label="Close" @click=${this._close}>
          <span aria-hidden="true">×</span>
        </button>
      </div>
    </dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dialog': Dialog;
  }
}
