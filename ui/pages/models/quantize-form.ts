import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ServiceError } from '../../api/request.ts';
import { service } from '../../api/service.ts';
import type { Choices, ModelFile } from '../../api/types.ts';
import { progressBar, serviceErrorPanel } from '../../elements/parts.ts';
import { choices, quantized } from '../../state/app.ts';
import { asServiceError } from '../../state/remote.ts';
import { Watch } from '../../state/store.ts';

type Type = Choices['quantizations'][number];

/** Adds a smaller GGUF file to a model; fires `made` when there is a new one. */
@customElement('hone-quantize-form')
export class QuantizeForm extends LitElement {
  @property() modelId = '';
  @property({ attribute: false }) files: readonly ModelFile[] = [];
  @state() private _chosen = '';
  @state() private _busy = false;
  @state() private _error: ServiceError | null = null;
  private _told: unknown = null;

  constructor() {
    super();
    new Watch(this, quantized, choices);
  }

  protected override createRenderRoot(): this {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    choices.ensure();
  }

  private get _frame() {
    return quantized.value?.model_id === this.modelId ? quantized.value : null;
  }

  /** Types below the best existing one: lost precision cannot be restored. */
  private get _possible(): readonly Type[] {
    const types = choices.value.value?.quantizations ?? [];
    const there = types.map((type) => this.files.some(({ quantization }) => quantization === type));
    const best = there.indexOf(true);
    return best < 0 ? [] : types.filter((_, index) => index > best && !there[index]);
  }

  protected override updated(): void {
    const frame = this._frame;
    if (frame === null || frame === this._told || frame.state === 'running') return;
    this._told = frame;
    this.dispatchEvent(new CustomEvent('made', { bubbles: true }));
  }

  private async _make(type: Type): Promise<void> {
    if (this._busy) return;
    this._busy = true;
    this._error = null;
    try {
      await service.quantize(this.modelId, type);
    } catch (error) {
      this._error = asServiceError(error);
    } finally {
      this._busy = false;
    }
  }

  protected override render(): TemplateResult | typeof nothing {
    const possible = this._possible;
    const frame = this._frame;
    if (possible.length === 0) return nothing;
    const chosen = possible.find((type) => type === this._chosen) ?? (possible[0] as Type);
    const isRunning = frame?.state === 'running';
    return html`<div class="row wrap-row">
        <label for="quantization">Add a quantization</label>
        <select
          id="quantization"
          class="narrow"
          .value=${chosen}
          ?disabled=${isRunning}
          @change=${(event: Event) => {
            this._chosen = (event.target as HTMLSelectElement).value;
          }}
        >
          ${possible.map((type) => html`<option value=${type} ?selected=${type === chosen}>${type}</option>`)}
        </select>
        <button type="button" ?disabled=${this._busy || isRunning} @click=${() => this._make(chosen)}>
          ${isRunning ? `Quantizing to ${frame.quantization}…` : 'Quantize'}
        </button>
      </div>
      ${isRunning ? progressBar('Quantization', frame.progress == null ? null : frame.progress * 100) : nothing}
      ${frame?.state === 'failed' ? html`<p class="fault wrap" role="alert">${frame.error ?? 'Quantization failed.'}</p>` : nothing}
      ${this._error === null ? nothing : serviceErrorPanel('Could not quantize the model', this._error)}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-quantize-form': QuantizeForm;
  }
}
