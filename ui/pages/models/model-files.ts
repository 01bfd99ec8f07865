import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { type Quantization, quantizations } from '../../../src/contract/models/quantizations.ts';
import { service } from '../../api/service.ts';
import type { ModelFile } from '../../api/types.ts';
import { formatBytes } from '../../elements/format.ts';
import { info } from '../../elements/info/info.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText } from '../../elements/parts.ts';

const words: Readonly<Record<string, string>> = {
  gguf: 'full model',
  mmproj: 'the base’s part for images and sound',
  adapter_modelfile: 'for Ollama: the adapter on the GGUF that was trained from',
  adapter_gguf: 'adapter for llama.cpp',
  adapter_readme: 'how the adapter for llama.cpp is used',
  modelfile: 'for Ollama',
  template: 'prompt template',
  verification: 'verification results',
  importance: 'which weights matter for its rows, for llama.cpp',
};

const inAdapter = (name: string) => name.startsWith('adapter/');
const inMerged = (name: string) => name.startsWith('merged/');
/** What training left, while the files are of something else. */
const inTrained = (name: string) => name.startsWith('trained/');

/** A model's files with sizes and download links. */
@customElement('hone-model-files')
export class ModelFiles extends LightElement {
  @property() modelId = '';
  @property({ attribute: false }) files: readonly ModelFile[] = [];
  /** The folder that they are in. */
  @property() path = '';

  protected override render(): TemplateResult {
    const own = this.files.filter(({ name }) => !inAdapter(name) && !inMerged(name) && !inTrained(name));
    return html`<section class="card" aria-labelledby="files">
      <h2 id="files">Files</h2>
      <ul class="list">
        ${own.map((file) => this._file(file))}
      </ul>
      ${
        larger(own).length === 0
          ? nothing
          : html`<p class="note">
              ${larger(own).join(', ')} ${larger(own).length === 1 ? 'is' : 'are'} larger than usual: llama.cpp stores layers
              whose width is not a multiple of 256 in a type with more bits.
            </p>`
      }
      ${this._folder(
        'Adapter',
        this.files.filter(({ name }) => inAdapter(name)),
      )}
      ${this._folder(
        'Merged weights (safetensors)',
        this.files.filter(({ name }) => inMerged(name)),
      )}
      ${this._folder(
        'As it was trained',
        this.files.filter(({ name }) => inTrained(name)),
      )}
      <p class="path">
        <code class="wrap"><bdi>${this.path}</bdi></code>
        <hone-copy .text=${this.path} label="Copy path"></hone-copy>
      </p>
    </section>`;
  }

  private _folder(title: string, files: readonly ModelFile[]): TemplateResult | typeof nothing {
    if (files.length === 0) return nothing;
    const size = files.reduce((sum, { bytes }) => sum + bytes, 0);
    return html`<details>
      <summary>${title}: ${files.length} ${files.length === 1 ? 'file' : 'files'}, ${formatBytes(size)}</summary>
      <ul class="list">${files.map((file) => this._file(file))}</ul>
    </details>`;
  }

  private _file({ name, bytes, kind, quantization, verified }: ModelFile): TemplateResult {
    const what = inAdapter(name) || kind === null ? '' : (words[kind] ?? '');
    const checked =
      kind !== 'gguf' ? '' : verified === null ? 'not compared' : verified ? 'verified' : 'not verified';
    return html`<li class="file">
      <span class="list-main">
        ${nameText(name)}<small class="muted">${[what, quantization, checked].filter(Boolean).join(', ')}${quantization === null ? nothing : info(quantization)}</small>
      </span>
      <span class="tabular">${formatBytes(bytes)}</span>
      <a class="button small" download href=${service.modelFilePath(this.modelId, name)}
        >Download<span class="off-screen"> ${name}</span></a
      >
    </li>`;
  }
}

/** A quarter above the size that a type has where all layers fit it. */
const surplus = 1.25;

/** The types of files that are larger than their type is, compared with the largest of them. */
function larger(files: readonly ModelFile[]): string[] {
  const weight = ({ quantization }: ModelFile) => quantizations[quantization as Quantization]?.bytesPerWeight;
  const known = files.filter((file) => weight(file) !== undefined);
  const [largest] = known.toSorted((one, other) => other.bytes - one.bytes);
  if (largest === undefined) return [];
  const best = known.reduce(
    (one, other) => ((weight(other) ?? 0) > (weight(one) ?? 0) ? other : one),
    largest,
  );
  return known
    .filter((file) => file.bytes / best.bytes > (surplus * (weight(file) ?? 0)) / (weight(best) ?? 1))
    .map(({ quantization }) => quantization as string);
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-model-files': ModelFiles;
  }
}
