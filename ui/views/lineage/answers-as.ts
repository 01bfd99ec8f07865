import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { LightElement } from '../../elements/light-element.ts';
import { nameText } from '../../elements/parts.ts';
import { aliases } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';

/** The aliases that stand for a model, or are split between it and another; nothing without one. */
@customElement('hone-answers-as')
export class AnswersAs extends LightElement {
  /** Its name in the API. */
  @property() model = '';

  constructor() {
    super();
    new Reread(this, aliases);
  }

  protected override render(): TemplateResult | typeof nothing {
    const found = (aliases.value.value ?? []).filter(
      (one) => one.model === this.model || one.split?.model === this.model,
    );
    if (found.length === 0) return nothing;
    return html` Answers as
    ${found.map(({ name, model, split }, index) => {
      const share =
        split === null ? nothing : ` (${model === this.model ? 100 - split.percent : split.percent}%)`;
      return html`${index === 0 ? nothing : ', '}<a href="/models/aliases">${nameText(name)}</a>${share}`;
    })}.`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-answers-as': AnswersAs;
  }
}
