import { html, nothing, type TemplateResult } from 'lit';
import { endNotices, switchEndNotices } from '../state/end-notices.ts';

/** The switch of the notifications about runs that end; nothing where the browser has none. */
export function endNoticeButton(): TemplateResult | typeof nothing {
  const { value } = endNotices;
  if (value === 'missing') return nothing;
  if (value === 'blocked') return html`<p class="note">This browser blocks notifications of this page.</p>`;
  return html`<div class="row end">
    <button
      type="button"
      class="small"
      title="A notification of this browser, while the page is open in a hidden tab"
      @click=${() => void switchEndNotices()}
    >
      ${value === 'on' ? 'Stop notifying me' : 'Notify me when runs end'}
    </button>
  </div>`;
}
