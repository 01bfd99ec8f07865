import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Child } from '../../elements/child.ts';
import { jsonView, readJson } from '../../elements/json-view.ts';
import { LightElement } from '../../elements/light-element.ts';
import '../../elements/markdown/markdown.ts';

/** A longer answer is laid out once it is complete: while it grows, that would be done anew for each part. */
const longestGrowing = 20_000;
/** A line without any mark of Markdown, which looks the same either way. */
const plain = /^(?!([-+]|\d+[.)])\s)(?!.* {2})[^\n*_~`#|<>[\]!\\&]*$/;

/** The text of an answer: Markdown or JSON, laid out, or as the model wrote it. */
@customElement('hone-answer-text')
export class AnswerText extends LightElement {
  @property({ attribute: false }) text = '';
  @property({ attribute: false }) busy = false;
  @state() private _isRaw = false;

  protected override render(): TemplateResult {
    const text = this.text.trimStart();
    const json = this.busy ? undefined : readJson(text);
    const isLaidOut = !this._isRaw && !(this.busy && text.length > longestGrowing);
    return html`${
      !isLaidOut
        ? html`<p class="wrap answer-text"><bdi>${this._isRaw ? this.text : text}</bdi>${this._caret()}</p>`
        : json === undefined
          ? html`<div class="answer-text"><hone-markdown .text=${text}></hone-markdown>${this._caret()}</div>`
          : html`<div class="answer-text json-view wrap" dir="ltr">${jsonView(json)}</div>`
    }
    ${this.busy || (json === undefined && plain.test(text.trimEnd())) ? nothing : this._toggle()}`;
  }

  private _caret(): Child {
    return this.busy ? html`<i class="caret" aria-hidden="true"></i>` : nothing;
  }

  private _toggle(): TemplateResult {
    return html`<button
      type="button"
      class="tool"
      aria-pressed=${this._isRaw ? 'true' : 'false'}
      @click=${() => {
        this._isRaw = !this._isRaw;
      }}
    >
      Raw
    </button>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-answer-text': AnswerText;
  }
}
