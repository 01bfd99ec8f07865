import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { Every } from '../../elements/every.ts';
import { formatDuration } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';

const tickMs = 1_000;
/** From so many seconds on, seconds are rounded to tens, and to minutes. */
const [tens, minutes] = [100, 1_200];

/** How long a run still takes, by the second; nothing while that is unknown. */
@customElement('hone-time-left')
export class TimeLeft extends LightElement {
  /** When it is expected to end. */
  @property() end: string | null = null;

  constructor() {
    super();
    new Every(this, tickMs, () => {
      if (this.end !== null) this.requestUpdate();
    });
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.end === null) return nothing;
    const seconds = Math.max(0, (Date.parse(this.end) - Date.now()) / 1000);
    return seconds < 1 ? html`about to end` : html`about <b>${formatDuration(rounded(seconds))}</b> left`;
  }
}

function rounded(seconds: number): number {
  const to = seconds < tens ? 1 : seconds < minutes ? 10 : 60;
  return Math.round(seconds / to) * to;
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-time-left': TimeLeft;
  }
}
