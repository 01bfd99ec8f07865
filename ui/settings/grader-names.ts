import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { LightElement } from '../elements/light-element.ts';
import { graders } from '../state/app.ts';
import { draft } from '../state/drafts/draft.ts';
import { Watch } from '../state/store.ts';

/** The stored graders that the form's field does not name yet; a click adds one. */
@customElement('hone-grader-names')
export class GraderNames extends LightElement {
  /** What the field has. */
  @property() text = '';

  constructor() {
    super();
    new Watch(this, graders);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void graders.refresh();
  }

  protected override render(): TemplateResult | typeof nothing {
    const lines = this.text.split('\n').map((line) => line.trim());
    const names = graders.value.value?.map(({ name }) => name);
    if (names?.length === 0) return html`<a href="/models/graders">Make a grader</a>`;
    const left = names?.filter(
      (name) => !lines.some((line) => line === name || line.startsWith(`${name} ×`)),
    );
    if (left === undefined || left.length === 0) return nothing;
    const add = (name: string) => draft.setting('graders', [...lines.filter(Boolean), name].join('\n'));
    return html`<div class="row">
      ${left.map((name) => html`<button type="button" class="small" @click=${() => add(name)}>Add ${name}</button>`)}
    </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-grader-names': GraderNames;
  }
}
