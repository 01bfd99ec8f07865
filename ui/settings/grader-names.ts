import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { call } from '../api/call.ts';
import { LightElement } from '../elements/light-element.ts';
import { draft } from '../state/drafts/draft.ts';
import { Remote } from '../state/remote.ts';
import { Watch } from '../state/store.ts';

const stored = new Remote(async () => (await call('GET /api/graders')).graders.map(({ name }) => name));

/** The stored graders that the form's field does not name yet; a click adds one. */
@customElement('hone-grader-names')
export class GraderNames extends LightElement {
  /** What the field has. */
  @property() text = '';

  constructor() {
    super();
    new Watch(this, stored);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void stored.refresh();
  }

  protected override render(): TemplateResult | typeof nothing {
    const lines = this.text.split('\n').map((line) => line.trim());
    const left = (stored.value.value ?? []).filter(
      (name) => !lines.some((line) => line === name || line.startsWith(`${name} ×`)),
    );
    if (left.length === 0) return nothing;
    const add = (name: string) => draft.setting('graders', [...lines.filter(Boolean), name].join('\n'));
    return html`<div class="row">
      ${left.map((name) => html`<button type="button" class="small" @click=${() => add(name)}>Add ${name}</button>`)}
    </div>`;
  }
}
