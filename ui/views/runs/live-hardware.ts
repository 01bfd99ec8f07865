import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { GpuSample } from '../../api/frames.ts';
import type { Child } from '../../elements/child.ts';
import { formatMemory } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { progressBar, skeleton } from '../../elements/parts.ts';
import { sample } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';

/** No sample after this long means that the sampler does not run on this machine. */
const patienceMs = 4_000;

/** Live usage of the machine, as a card of its own, or within one. */
@customElement('hone-live-hardware')
export class LiveHardware extends LightElement {
  @property({ type: Boolean }) within = false;
  @state() private _waiting = true;
  private _timer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    super();
    new Watch(this, sample);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._timer = setTimeout(() => {
      this._waiting = false;
    }, patienceMs);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this._timer !== null) clearTimeout(this._timer);
  }

  private get _class(): string {
    return this.within ? 'live' : 'card';
  }

  protected override render(): TemplateResult | typeof nothing {
    const now = sample.value;
    if (now === null) {
      return this._waiting
        ? html`<section class="${this._class} live-waiting">${skeleton(5)}</section>`
        : nothing;
    }
    const cpu = now.cpu_percent === null ? '–' : `${Math.round(now.cpu_percent)}%`;
    const watts = now.package_watts == null ? '' : `${Math.round(now.package_watts)} W`;
    return html`<section class=${this._class} aria-labelledby="live">
      ${this.within ? html`<h3 id="live">Live usage</h3>` : html`<h2 id="live">Live usage</h2>`}
      ${meter('CPU', now.cpu_percent, [cpu, watts].filter(Boolean).join(' · '))}
      ${meter(
        'Memory',
        share(now.ram_used_bytes, now.ram_total_bytes),
        `${formatMemory(now.ram_used_bytes)} of ${formatMemory(now.ram_total_bytes)}`,
      )}
      ${now.gpus.map((gpu) => gpuMeters(gpu, now.gpus.length > 1))}
      ${now.gpu_state === 'late' ? html`<p class="muted">The GPU driver is not responding.</p>` : nothing}
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-live-hardware': LiveHardware;
  }
}

function share(used: number | null, total: number | null): number | null {
  return used === null || total === null || total === 0 ? null : (used / total) * 100;
}

function meter(name: string, percent: number | null, text: string, shown: Child = name): TemplateResult {
  return html`<div class="meter">
    <p class="row between"><span>${shown}</span><span class="tabular">${text}</span></p>
    ${percent === null ? nothing : progressBar(name, percent)}
  </div>`;
}

/** @param isOneOfMany adds the GPU's index to its name. */
function gpuMeters(gpu: GpuSample, isOneOfMany: boolean): TemplateResult {
  const name = isOneOfMany ? `${gpu.index} · ${gpu.name ?? 'GPU'}` : (gpu.name ?? 'GPU');
  if (gpu.lost) return html`<p class="warning">${name} is no longer available.</p>`;
  const figures = [
    gpu.utilization_percent === null ? '–' : `${Math.round(gpu.utilization_percent)}%`,
    gpu.temperature_celsius === null ? '' : `${Math.round(gpu.temperature_celsius)} °C`,
    gpu.power_watts === null ? '' : `${Math.round(gpu.power_watts)} W`,
  ];
  return html`${meter(name, gpu.utilization_percent, figures.filter(Boolean).join(' · '))}
    ${meter(
      `${name} memory`,
      share(gpu.memory_used_bytes, gpu.memory_total_bytes),
      `${formatMemory(gpu.memory_used_bytes)} of ${formatMemory(gpu.memory_total_bytes)}`,
      html`<span class="off-screen">${name}</span> GPU memory`,
    )}`;
}
