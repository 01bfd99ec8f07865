import { html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Answer } from '../../../api/routes.ts';
import { service } from '../../../api/service.ts';
import { formatCount, formatMoment } from '../../../elements/format.ts';
import { LightElement } from '../../../elements/light-element.ts';
import { versionPath } from '../../../state/router.ts';
import { versionUses } from './version-uses.ts';

type Version = Answer<'GET /api/datasets/{name}/versions'>['versions'][number];

/** The versions of a dataset that are kept, if there are others than its rows now. */
@customElement('hone-dataset-versions')
export class DatasetVersions extends LightElement {
  @property() name = '';
  /** The version of the rows; the list is read again when it is another. */
  @property() version = '';
  @state() private _versions: readonly Version[] = [];

  protected override willUpdate(changed: Map<PropertyKey, unknown>): void {
    if (changed.has('name') || changed.has('version')) void this._read();
  }

  private async _read(): Promise<void> {
    const of = this.version;
    // Without them, there is no list.
    const versions = await service.datasetVersions(this.name).catch(() => []);
    if (of === this.version) this._versions = versions;
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this._versions.every(({ current }) => current)) return nothing;
    return html`<section class="card" aria-labelledby="versions-heading">
      <h2 id="versions-heading">Versions</h2>
      <p class="note">Rows that a run or an evaluation used are kept as long as it is.</p>
      <div class="scroll-box" tabindex="0" role="region" aria-label="Versions of the dataset">
        <table class="rows">
          <thead>
            <tr>
              <th scope="col">Stored</th>
              <th scope="col" class="right">Rows</th>
              <th scope="col">Changes</th>
              <th scope="col">Used by</th>
            </tr>
          </thead>
          <tbody>
            ${this._versions.map((version) => this._row(version))}
          </tbody>
        </table>
      </div>
    </section>`;
  }

  private _row(version: Version): TemplateResult {
    const { sha256, current, created_at, num_examples: rows } = version;
    const when = formatMoment(created_at);
    return html`<tr>
      <th scope="row">${current ? html`${when} (now)` : html`<a href=${versionPath(this.name, sha256)}>${when}</a>`}</th>
      <td class="right">${formatCount(rows)}</td>
      <td>${changesOf(version)}</td>
      <td>${versionUses(version.used_by)}</td>
    </tr>`;
  }
}

function changesOf({ added_rows: added, removed_rows: removed }: Version): string {
  if (added === null || removed === null) return '–';
  const parts = [
    [added, 'added'],
    [removed, 'removed'],
  ] as const;
  return parts.flatMap(([count, word]) => (count === 0 ? [] : [`${formatCount(count)} ${word}`])).join(', ');
}

declare global {
  interface HTMLElementTagNameMap {
    'hone-dataset-versions': DatasetVersions;
  }
}
