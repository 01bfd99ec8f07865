import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../api/service.ts';
import type { AnswerFigures } from '../api/types.ts';
import { LightElement } from '../elements/light-element.ts';
import { modelName, progressBar } from '../elements/parts.ts';

const idleMs = 4_000;
/** While something is made. */
const busyMs = 1_000;

const shared = 'Several requests may wait for it, so it is not cancelled with one of them.';
/** What is being made, and why it can or cannot be cancelled. */
const words: Readonly<
  Record<NonNullable<AnswerFigures['preparing']>['kind'], { doing: string; note: string }>
> = {
  base: { doing: 'Making one file of', note: 'Its models will share it in memory. They answer meanwhile.' },
  checkpoint: { doing: 'Preparing a checkpoint of', note: shared },
  record: { doing: 'Finding out the base of', note: shared },
};

/** The progress of files that are made so that models answer. Nothing while none are. */
@customElement('hone-preparing')
export class PreparingView extends LightElement {
  @state() private _preparing: AnswerFigures['preparing'] = null;
  private _timer: ReturnType<typeof setTimeout> | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    void this._look();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
  }

  private async _look(): Promise<void> {
    if (this._timer !== null) clearTimeout(this._timer);
    if (document.visibilityState === 'visible') {
      // The page says elsewhere that the service is not reachable.
      const figures = await service.answerFigures().catch(() => null);
      this._preparing = figures?.preparing ?? null;
    }
    if (this.isConnected)
      this._timer = setTimeout(() => void this._look(), this._preparing === null ? idleMs : busyMs);
  }

  private async _stop(): Promise<void> {
    // It may have ended meanwhile.
    await service.stopPreparing().catch(() => undefined);
    await this._look();
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this._preparing === null) return nothing;
    const { kind, name, progress } = this._preparing;
    const { doing, note } = words[kind];
    return html`<div class="preparing" role="status">
      <p class="wrap">${doing} ${modelName(name)}</p>
      ${progressBar('Progress', progress === null ? null : 100 * progress)}
      <p class="hint">${note}</p>
      ${
        kind === 'base'
          ? html`<div><button type="button" class="small" @click=${this._stop}>Cancel</button></div>`
          : nothing
      }
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-preparing': PreparingView;
  }
}
