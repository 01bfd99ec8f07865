import { html, nothing, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import { LightElement } from '../../elements/light-element.ts';
import { Watch } from '../../state/store.ts';
import { held, uploadTag } from './drops.ts';

/** Tells what becomes of files that are held over a page which itself has no place for them. */
@customElement('hone-drop-overlay')
export class DropOverlay extends LightElement {
  constructor() {
    super();
    new Watch(this, held);
  }

  protected override render(): TemplateResult | typeof nothing {
    if (!held.value || document.querySelector(uploadTag) !== null) return nothing;
    return html`<div class="drop-overlay" role="status"><p class="drop" data-over="yes">Drop the files to add them as datasets</p></div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-drop-overlay': DropOverlay;
  }
}
