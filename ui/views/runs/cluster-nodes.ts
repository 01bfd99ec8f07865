import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import type { Info } from '../../api/types.ts';
import { Every } from '../../elements/every.ts';
import { LightElement } from '../../elements/light-element.ts';
import { progressBar } from '../../elements/parts.ts';
import { info } from '../../state/app.ts';
import { Watch } from '../../state/store.ts';

/** The service asks the cluster anew when its answer is older than three seconds. */
const refreshMs = 5_000;

type Cluster = NonNullable<Info['cluster']>;

/** The cluster's machines with their devices and what of them is free; nothing without a cluster. */
@customElement('hone-cluster-nodes')
export class ClusterNodes extends LightElement {
  constructor() {
    super();
    new Watch(this, info);
    new Every(this, refreshMs, () => this._look());
  }

  override connectedCallback(): void {
    super.connectedCallback();
    info.ensure();
    this._look();
  }

  /** Asks what is free, where there is a cluster. */
  private _look(): void {
    const { value, loading } = info.value;
    if (value?.cluster !== undefined && !loading) void info.refresh();
  }

  protected override render(): TemplateResult | typeof nothing {
    const cluster = info.value.value?.cluster;
    if (cluster === undefined) return nothing;
    return html`<section class="card" aria-labelledby="cluster">
      <header class="card-head">
        <h2 id="cluster">Cluster</h2>
        <span class="tag"><bdi>${cluster.address}</bdi></span>
      </header>
      ${cluster.available ? nodes(cluster) : reason(cluster)}
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-cluster-nodes': ClusterNodes;
  }
}

function reason({ asked_at: asked, reason: why }: Cluster): TemplateResult {
  return asked === null
    ? html`<p class="note" role="status">Waiting for its first answer.</p>`
    : html`<p class="warning wrap" role="status"><bdi>${why ?? 'It cannot be used.'}</bdi></p>`;
}

function nodes({ nodes: all }: Cluster): TemplateResult {
  return html`<ul class="cluster-nodes">
      ${all.map(
        (node) => html`<li>
          <h3><bdi>${node.address}</bdi></h3>
          ${node.gpus > 0 ? devices(`GPUs of ${node.address}`, 'GPUs', node.free_gpus, node.gpus) : nothing}
          ${devices(`Cores of ${node.address}`, 'Cores', node.free_cpus, node.cpus)}
        </li>`,
      )}
    </ul>
    <p class="note">Runs with several workers use its free devices.</p>`;
}

/** The bar shows what is in use. */
function devices(label: string, name: string, free: number, count: number): TemplateResult {
  return html`<div class="meter">
    <p class="row between"><span>${name}</span><span class="tabular">${free} of ${count} free</span></p>
    ${progressBar(`${label} in use`, count > 0 ? (100 * (count - free)) / count : 0)}
  </div>`;
}
