import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { Facets } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { nameText } from '../../elements/parts.ts';
import { datasets, evaluations } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';
import { evaluationLinks } from './evaluation-links.ts';

/** What was made with a dataset, as links: the runs and models that were trained on it, and its evaluations. */
@customElement('hone-dataset-uses')
export class DatasetUses extends LightElement {
  @property() name = '';
  /** Runs and models have the name that it had then. */
  @property({ attribute: false }) formerNames: readonly string[] = [];
  @state() private _facets: readonly Facets[] = [];

  constructor() {
    super();
    new Reread(this, evaluations);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this._read();
  }

  private async _read(): Promise<void> {
    // Without them, there are no links.
    this._facets = await Promise.all([service.jobFacets(), service.modelFacets()]).catch(() => []);
  }

  protected override render(): TemplateResult | typeof nothing {
    const isOther = (name: string) => datasets.value.value?.some(({ filename }) => filename === name);
    const names = [this.name, ...new Set(this.formerNames.filter((name) => !isOther(name)))];
    const found = evaluationLinks(({ dataset }) => names.includes(dataset));
    const trained = names.flatMap((name) =>
      this._facets.flatMap((facets, place) => {
        const count = facets.datasets.find(({ value }) => value === name)?.count;
        if (count === undefined) return [];
        const [path, word] = place === 0 ? ['/training/runs', 'run'] : ['/models', 'model'];
        return html`<a href="${path}?dataset=${encodeURIComponent(name)}">${formatCount(count)} ${word}${count === 1 ? '' : 's'}</a
          >${name === this.name ? nothing : html` (as ${nameText(name)})`}`;
      }),
    );
    if (trained.length === 0 && found === null) return nothing;
    return html`<section class="card" aria-label="Used by">
      ${
        trained.length === 0
          ? nothing
          : html`<p>Trained on it: ${trained.map((one, index) => html`${index === 0 ? '' : ', '}${one}`)}</p>`
      }
      ${found === null ? nothing : html`<p>Evaluations: ${found}</p>`}
    </section>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-uses': DatasetUses;
  }
}
