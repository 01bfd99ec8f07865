import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { service } from '../../api/service.ts';
import type { Facets } from '../../api/types.ts';
import { formatCount } from '../../elements/format.ts';
import { LightElement } from '../../elements/light-element.ts';
import { evaluations } from '../../state/app.ts';
import { Reread } from '../../state/remote.ts';
import { evaluationLinks } from './evaluation-links.ts';

/** What was made with a dataset, as links: the runs and models that were trained on it, and its evaluations. */
@customElement('hone-dataset-uses')
export class DatasetUses extends LightElement {
  @property() name = '';
  @state() private _counts: readonly (number | null)[] = [];

  constructor() {
    super();
    new Reread(this, evaluations);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    void this._read();
  }

  private async _read(): Promise<void> {
    const countIn = ({ datasets }: Facets) =>
      datasets.find(({ value }) => value === this.name)?.count ?? null;
    // Without them, there are no links.
    const facets = await Promise.all([service.jobFacets(), service.modelFacets()]).catch(() => []);
    this._counts = facets.map(countIn);
  }

  protected override render(): TemplateResult | typeof nothing {
    const [runs = null, models = null] = this._counts;
    const found = evaluationLinks(({ dataset }) => dataset === this.name);
    const link = (path: string, count: number, word: string) => html`<a
      href="${path}?dataset=${encodeURIComponent(this.name)}"
      >${formatCount(count)} ${word}${count === 1 ? '' : 's'}</a
    >`;
    const trained = [
      ...(runs === null ? [] : [link('/training/runs', runs, 'run')]),
      ...(models === null ? [] : [link('/models', models, 'model')]),
    ];
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
