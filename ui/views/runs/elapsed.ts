import type { TemplateResult } from 'lit';
import { html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Job } from '../../api/types.ts';
import { Every } from '../../elements/every.ts';
import { formatDuration, jobSeconds } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';

const tickMs = 1_000;

/** How long a run has taken; while it runs, up to the present second. */
@customElement('hone-elapsed')
export class Elapsed extends LightElement {
  @property({ attribute: false }) job: Job | null = null;

  constructor() {
    super();
    new Every(this, tickMs, () => {
      if (this.job?.ended_at === null) this.requestUpdate();
    });
  }

  protected override render(): TemplateResult {
    return html`${formatDuration(this.job && jobSeconds(this.job))}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-elapsed': Elapsed;
  }
}
