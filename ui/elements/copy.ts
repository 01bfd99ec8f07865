import { html, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { LightElement } from './light-element.ts';

const saidMs = 2_000;

/** A button that copies a text. */
@customElement('hone-copy')
export class Copy extends LightElement {
  /** A text that changes is read when it is copied. */
  @property({ attribute: false }) text: string | (() => string) = '';
  @property() label = 'Copy';
  @state() private _done: 'copied' | 'failed' | null = null;

  private async _copy(): Promise<void> {
    const text = typeof this.text === 'string' ? this.text : this.text();
    this._done = (await copyText(text)) ? 'copied' : 'failed';
    setTimeout(() => {
      this._done = null;
    }, saidMs);
  }

  protected override render(): TemplateResult {
    const said = this._done === 'copied' ? 'Copied' : this._done === 'failed' ? 'Copy failed' : '';
    return html`<button type="button" class="small" @click=${this._copy}>
      ${said === '' ? this.label : said}
    </button>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-copy': Copy;
  }
}

/** The clipboard API needs localhost or HTTPS; elsewhere the deprecated command still works. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'off-screen';
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    return copied;
  }
}
