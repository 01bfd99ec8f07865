import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import { checkField } from '../../elements/fields.ts';
import { LightElement } from '../../elements/light-element.ts';
import '../../elements/markdown/markdown.ts';
import { serviceErrorPanel, skeleton } from '../../elements/parts.ts';
import { Remote } from '../../state/remote.ts';
import { paced } from '../../state/runs/pace.ts';
import { Watch } from '../../state/store.ts';

/** While a name is typed, the card is not asked for at every key. */
const readMs = 500;

/** The card that a push would have, to be read before it. */
@customElement('hone-model-card')
export class ModelCard extends LightElement {
  @property() modelId = '';
  /** `owner/name`, or empty while there is none. */
  @property() repository = '';
  @state() private _isOpen = false;
  @state() private _isRaw = false;
  private _of = '';
  private readonly _card = new Remote(() => service.modelCard(this.modelId, this.repository));
  private readonly _pace = paced(() => void this._card.refresh(), readMs);

  constructor() {
    super();
    new Watch(this, this._card);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this._pace.cancel();
  }

  protected override willUpdate(): void {
    if (!this._isOpen || this.repository === '' || this._of === this.repository) return;
    this._of = this.repository;
    this._pace.ask();
  }

  protected override render(): TemplateResult {
    return html`<details
      class="fold bare"
      @toggle=${({ currentTarget }: Event) => {
        this._isOpen = (currentTarget as HTMLDetailsElement).open;
      }}
    >
      <summary>Model card</summary>
      ${this._isOpen ? this._content() : nothing}
    </details>`;
  }

  private _content(): TemplateResult {
    if (this.repository === '')
      return html`<p class="note">Name the repository first: the card has its name.</p>`;
    const { value, error } = this._card.value;
    if (error !== null) return serviceErrorPanel('Could not make the card', error);
    if (value === null) return skeleton(4);
    return html`<div class="row between">
        ${checkField('As text', this._isRaw, (on) => {
          this._isRaw = on;
        })}
        <hone-copy .text=${value}></hone-copy>
      </div>
      <div class="model-card" tabindex="0" role="region" aria-label="Model card">
        ${
          this._isRaw
            ? html`<pre class="wrap"><bdi>${value}</bdi></pre>`
            : html`<hone-markdown .text=${withoutFrontMatter(value)}></hone-markdown>`
        }
      </div>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-model-card': ModelCard;
  }
}

/** The card without the YAML of the hub's index, which is no part of its text. */
const withoutFrontMatter = (card: string): string => card.replace(/^---\n[\s\S]*?\n---\n/, '');
