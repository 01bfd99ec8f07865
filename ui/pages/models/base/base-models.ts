import { html, nothing, type TemplateResult } from 'lit';
import { customElement, state } from 'lit/decorators.js';
import { service } from '../../../api/service.ts';
import type { LocalModel, ModelDownload, Recommendations } from '../../../api/types.ts';
import { keyedRow } from '../../../elements/child.ts';
import { formatAgo, formatCount, formatMemory } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { empty, nameText, serviceErrorPanel, skeleton } from '../../../elements/parts.ts';
import { latest, router, toasts } from '../../../state/app.ts';
import { draft } from '../../../state/drafts/draft.ts';
import { Remote, Reread } from '../../../state/remote.ts';
import { playgroundPath } from '../../../state/router.ts';
import { sectionTabs } from '../../../views/tabs/section-tabs.ts';
import './delete-base-model.ts';
import './downloads.ts';
import './recommended.ts';
import './remote-models.ts';

/** The base models on this machine, those that are recommended for it, and their downloads. */
@customElement('hone-base-models')
export class BaseModels extends LightElement {
  @state() private _deleting: string | null = null;
  private readonly _local = new Remote<LocalModel[]>(service.baseModels);
  private readonly _downloads = new Remote<ModelDownload[]>(service.modelDownloads);
  private readonly _recommended = new Remote<Recommendations>(() =>
    service.recommendations('text-generation'),
  );
  private _unfollow: (() => void) | null = null;

  constructor() {
    super();
    new Reread(this, this._local, this._downloads, this._recommended);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this._unfollow = latest.subscribe(() => this._take());
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._unfollow?.();
  }

  /** Progress is in the frame; what else has changed, also while the page was not connected, is read. */
  private _take(): void {
    const frame = latest.value;
    if (frame?.type === 'snapshot') void this._downloads.refresh();
    const { value } = this._downloads.value;
    if (frame?.type !== 'download' || value === null) return;
    if (!value.some(({ id, state: known }) => id === frame.id && known === frame.state)) {
      void this._downloads.refresh();
      if (frame.state === 'completed') {
        toasts.show(`${frame.model} was downloaded`);
        void this._local.refresh();
      }
    } else {
      const { progress, done_bytes, total_bytes } = frame;
      const now = value.map((one) =>
        one.id === frame.id ? { ...one, progress, done_bytes, total_bytes } : one,
      );
      this._downloads.set({ ...this._downloads.value, value: now });
    }
  }

  private readonly _started = (): void => {
    void this._downloads.refresh();
  };

  private _train(model: string): void {
    const isSuggested = this._recommended.value.value?.recommendations.some((one) => one.model === model);
    draft.change({ model, custom: !isSuggested, mergeFor: '' });
    router.go('/training');
  }

  protected override render(): TemplateResult {
    const here = this._local.value.value;
    const downloads = (this._downloads.value.value ?? []).filter((one) => one.state !== 'completed');
    const recommended = this._recommended.value;
    return html`<div class="page">
      ${sectionTabs('Models', '/models/base')}
      <div>
        <h1>Base models</h1>
        <p class="muted">Models to fine-tune. A missing one is downloaded when a training starts.</p>
      </div>
      <hone-model-downloads .downloads=${downloads} @changed=${this._started}></hone-model-downloads>
      <section class="card" aria-labelledby="base-here">
        <h2 id="base-here">On this machine</h2>
        ${this._body()}
      </section>
      ${
        here === null || (recommended.value === null && recommended.error === null)
          ? nothing
          : html`<hone-recommended-models
              .recommended=${recommended.value?.recommendations ?? []}
              .here=${here.map(({ model }) => model)}
              .downloading=${downloads.filter((one) => one.state === 'running').map(({ model }) => model)}
              @changed=${this._started}
            ></hone-recommended-models>`
      }
      <hone-remote-models></hone-remote-models>
      ${
        this._deleting === null
          ? nothing
          : html`<hone-delete-base-model
              model=${this._deleting}
              @deleted=${() => void this._local.refresh()}
              @dismiss=${() => {
                this._deleting = null;
              }}
            ></hone-delete-base-model>`
      }
    </div>`;
  }

  private _body(): TemplateResult {
    const { value, error } = this._local.value;
    if (value === null)
      return error === null ? skeleton(4) : serviceErrorPanel('Could not load the base models', error);
    if (value.length === 0) return empty('No base models yet', 'Download one below, or start a training.');
    return html`<div class="scroll-box" tabindex="0" role="region" aria-label="Table of base models">
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" class="right">Size</th>
            <th scope="col" class="right spare">Parameters</th>
            <th scope="col" class="right spare-narrow">Memory to train</th>
            <th scope="col" class="right spare">Last used</th>
            <th scope="col"><span class="off-screen">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          ${keyedRow(
            value,
            ({ model }) => model,
            (one) => this._row(one),
          )}
        </tbody>
      </table>
    </div>`;
  }

  private _row(one: LocalModel): TemplateResult {
    const { model, kind, gguf, bytes, parameters, memory_bytes: memory, fits, last_used: used } = one;
    const { answers_as: answersAs } = one;
    const name = gguf?.name ?? (kind === 'hub' ? model : (model.split(/[/\\]/).at(-1) ?? model));
    return html`<tr>
      <th scope="row" class="named">${nameText(name)} <small class="muted">${sourceWords(one)}</small></th>
      <td class="right">${formatMemory(bytes)}</td>
      <td class="right spare">${formatCount(parameters)}</td>
      <td class="right spare-narrow">
        ${memory === null ? '–' : `about ${formatMemory(memory)}`}
        ${fits === false ? html`<span class="badge" data-state="failed">too much</span>` : nothing}
      </td>
      <td class="right spare">${used === null ? '–' : formatAgo(used)}</td>
      <td>
        <div class="row end">
          ${
            answersAs === null
              ? nothing
              : html`<a class="button small" href=${playgroundPath(answersAs)} aria-label="Chat with ${name}">Chat</a>`
          }
          <button type="button" class="small" aria-label="Train ${name}" @click=${() => this._train(model)}>Train</button>
          ${
            kind === 'hub'
              ? html`<button
                  type="button"
                  class="small"
                  aria-label="Delete ${name}…"
                  @click=${() => {
                    this._deleting = model;
                  }}
                >
                  Delete…
                </button>`
              : nothing
          }
        </div>
      </td>
    </tr>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-base-models': BaseModels;
  }
}

/** Where a model is from. */
function sourceWords({ kind, gguf }: LocalModel): string {
  if (gguf !== null) return ['GGUF', gguf.quantization, gguf.program].filter(Boolean).join(', ');
  return { starter: 'the demo’s small model', hub: 'hub cache', folder: 'folder', gguf: '' }[kind];
}
