import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { ModelFile } from '../../api/types.ts';
import { formatBytes } from '../../elements/format.ts';
import { nameText } from '../../elements/parts.ts';
import './quantize-form.ts';

const words: Readonly<Record<string, string>> = {
  gguf: 'full model',
  adapter_gguf: 'adapter for llama.cpp',
  modelfile: 'for Ollama',
  template: 'prompt template',
  verification: 'verification results',
};

const inAdapter = (name: string) => name.startsWith('adapter/');

/** A model's files with sizes and download links, and a form to add quantizations. */
@customElement('hone-model-files')
export class ModelFiles extends LitElement {
  @property() modelId = '';
  @property({ attribute: false }) files: readonly ModelFile[] = [];
  /** The folder that they are in. */
  @property() path = '';

  protected override createRenderRoot(): this {
    return this;
  }

  protected override render(): TemplateResult {
    const own = this.files.filter(({ name }) => !inAdapter(name));
    return html`<section class="card" aria-labelledby="files">
      <h2 id="files">Files</h2>
      <ul class="list">
        ${own.map((file) => this._file(file))}
      </ul>
      ${this._adapter(this.files.filter(({ name }) => inAdapter(name)))}
      <hone-quantize-form .modelId=${this.modelId} .files=${this.files}></hone-quantize-form>
      <p class="path">
        <code class="wrap"><bdi>${this.path}</bdi></code>
        <hone-copy .text=${this.path} label="Copy path"></hone-copy>
      </p>
    </section>`;
  }

  private _adapter(files: readonly ModelFile[]): TemplateResult | typeof nothing {
    if (files.length === 0) return nothing;
    const size = files.reduce((sum, { bytes }) => sum + bytes, 0);
    return html`<details>
      <summary>Adapter: ${files.length} files, ${formatBytes(size)}</summary>
      <ul class="list">${files.map((file) => this._file(file))}</ul>
    </details>`;
  }

  private _file({ name, bytes, kind, quantization }: ModelFile): TemplateResult {
    const what = inAdapter(name) || kind === null ? '' : (words[kind] ?? '');
    return html`<li class="file">
      <span class="list-main">
        ${nameText(name)}<small class="muted">${[what, quantization].filter(Boolean).join(', ')}</small>
      </span>
      <span class="tabular">${formatBytes(bytes)}</span>
      <a class="button small" download href=${service.modelFilePath(this.modelId, name)}
        >Download<span class="off-screen"> ${name}</span></a
      >
    </li>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-model-files': ModelFiles;
  }
}
