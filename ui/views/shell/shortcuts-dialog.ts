import { html, type TemplateResult } from 'lit';
import { customElement } from 'lit/decorators.js';
import '../../elements/dialog.ts';
import { LightElement } from '../../elements/light-element.ts';
import { singleKeys } from '../../state/single-keys.ts';
import { Watch } from '../../state/store.ts';
import { pageKeys, paletteKeys, trafficKeys } from './keys.ts';
import { singleKeySwitch } from './single-key-switch.ts';

/** The shortcuts of every page, with the switch for those of a single key. Fires `dismiss` when closed. */
@customElement('hone-shortcuts')
export class Shortcuts extends LightElement {
  constructor() {
    super();
    new Watch(this, singleKeys);
  }

  protected override render(): TemplateResult {
    return html`<hone-dialog
      heading="Keyboard shortcuts"
      .content=${html`<dl class="shortcuts">
          ${row('Search everything', paletteKeys)} ${row('Search on this page', ['/'])}
          ${row('New training', ['n'])}
          ${pageKeys.map(({ name, letter }) => row(name, ['g', letter]))}
          ${row('Flag the row (of a dataset)', ['f'])}
          ${trafficKeys.map(({ name, letters }) => row(`${name} (in Traffic)`, letters))}
          ${row('These shortcuts', ['?'])}
        </dl>
        ${singleKeySwitch()}`}
    ></hone-dialog>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-shortcuts': Shortcuts;
  }
}

const row = (name: string, keys: readonly string[]) => html`<div>
  <dt>${name}</dt>
  <dd>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dd>
</div>`;
